import { type DeclaredField, type FieldsClass, fieldsOf } from './field.js';
import { isObject } from './kinds.js';
import { knownNames, Problems, unknownField } from './problems.js';

/**
 * Reads a JSON value as an object of a class: only the fields that the class declares, each checked. Nothing is
 * coerced.
 *
 * @throws {InputError} naming each invalid field
 */
export function readFields<T extends object>(of: FieldsClass<T>, value: unknown): T {
  const problems = new Problems();
  const object = readObject(of, value, '', problems);
  problems.settle();
  return object;
}

/**
 * Like `readFields`, for a nested object of a request. Returns `value` itself, checked and with the defaults of its class:
 * with a problem in it, it must not be used.
 *
 * @param at its path, empty for the whole body
 */
export function readObject<T extends object>(
  of: FieldsClass<T>,
  value: unknown,
  at: string,
  problems: Problems,
): T {
  if (!isObject(value)) {
    problems.add(
      at,
      at === '' ? 'must be an object' : `must be an object with ${knownNames(fieldsOf(of).keys())}`,
    );
    return new of();
  }
  const fields = fieldsOf(of);
  // Own fields only: a body may have fields with the name of an inherited one.
  for (const name of Object.keys(value)) {
    const field = fields.get(name);
    if (field === undefined) {
      const unknown = unknownField(name, fields.keys());
      // guard: unknown-fields-refused
      problems.add(below(at, unknown.field), unknown.rule);
    } else checkField(field, value[name], at, name, problems);
    if (problems.isFull) return value as T;
  }
  const { required, defaults } = omittedOf(of);
  for (const [name, { rule, of: parts }] of required) {
    if (!(/* guard: fields-inherit-nothing */ Object.hasOwn(value, name)))
      problems.add(below(at, name), parts === undefined ? missing(rule) : 'is missing');
  }
  for (const [name, one] of defaults) if (!Object.hasOwn(value, name)) value[name] = one;
  return value as T;
}

function checkField(
  { isRight, isNullable, rule, ruleFor, of, maxItems, minItems = 1 }: DeclaredField,
  value: unknown,
  at: string,
  name: string,
  problems: Problems,
): void {
  if (isNullable && value === null) return;
  if (of === undefined) {
    if (!isRight(value)) problems.add(below(at, name), ruleFor?.(value) ?? rule);
    return;
  }
  const path = below(at, name);
  if (maxItems === undefined) {
    readObject(of(), value, path, problems);
    return;
  }
  if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) {
    problems.add(path, `must be a list of ${minItems} to ${maxItems} objects`);
    return;
  }
  for (let i = 0; i < value.length && !problems.isFull; i++) {
    readObject(of(), value[i], `${path}[${i}]`, problems);
  }
}

/** What a class says of fields that a value leaves out. */
interface Omitted {
  readonly required: readonly (readonly [string, DeclaredField])[];
  /** Values of optional fields with an initialiser. */
  readonly defaults: readonly (readonly [string, unknown])[];
}

const OMITTED = new Map<FieldsClass, Omitted>();

/** Cached per class. */
function omittedOf(of: FieldsClass): Omitted {
  let omitted = OMITTED.get(of);
  if (omitted === undefined) {
    omitted = {
      required: [...fieldsOf(of)].filter(([, { isOptional }]) => !isOptional),
      defaults: Object.entries(new of()).filter(([, value]) => value !== undefined),
    };
    OMITTED.set(of, omitted);
  }
  return omitted;
}

/** The rule of a field that is left out, whose value cannot be wrong. @param rule "must be …" */
function missing(rule: string): string {
  return rule.startsWith('must ') ? `is missing: it ${rule}` : `is missing; ${rule}`;
}

function below(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
