import { type DeclaredField, type FieldsClass, fieldsOf } from './field.js';
import type { FieldProblem } from './problems.js';
import { insideName } from './wire.js';

const FIELDS = new Map<FieldsClass, ReadonlyMap<string, DeclaredField>>();

/**
 * The first mistake in an object that a program gives: its fields have the bounds that a request has, and their names are those of
 * the inside. Times have none; what the class does not declare is not looked at.
 *
 * @param at its path with a dot at the end, or nothing
 */
export function problemIn(of: FieldsClass, value: object, at = ''): FieldProblem | undefined {
  const fields = fieldsInside(of);
  const given = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(given)) {
    const field = fields.get(name);
    const problem = field === undefined ? undefined : problemOf(field, given[name], `${at}${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOf(field: DeclaredField, value: unknown, path: string): FieldProblem | undefined {
  const { isRight, isNullable, isMoment, rule, of, maxItems } = field;
  if (value === undefined || isMoment === true || (isNullable && value === null)) return undefined;
  if (of === undefined) return isRight(value) ? undefined : { field: path, rule };
  if (maxItems !== undefined) return undefined;
  if (typeof value !== 'object' || value === null) return { field: path, rule: 'must be an object' };
  const part = of();
  for (const [name, { isOptional, rule: needed }] of fieldsInside(part))
    if (!isOptional && (value as Readonly<Record<string, unknown>>)[name] === undefined)
      return { field: `${path}.${name}`, rule: needed };
  return problemIn(part, value, `${path}.`);
}

/** The fields of a class by their names inside. */
function fieldsInside(of: FieldsClass): ReadonlyMap<string, DeclaredField> {
  let fields = FIELDS.get(of);
  if (fields === undefined) {
    fields = new Map([...fieldsOf(of)].map(([name, field]) => [insideName(name, field), field]));
    FIELDS.set(of, fields);
  }
  return fields;
}
