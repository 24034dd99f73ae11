import { validateSync } from '../../config/class-validator.js';
import { type FieldProblem, InputError } from '../errors.v1.js';
import type { Query } from '../query.js';
import { type DeclaredField, type FieldsClass, fieldsOf } from './field.js';
import { isObject } from './kinds.js';

/** More are not listed: who has made one mistake a thousand times needs to be told a few times only. */
const MOST_PROBLEMS = 20;
/** A stranger's word is repeated up to this length. */
const SHOWN_CHARACTERS = 40;
const WHOLE_NUMBER = /^-?[0-9]{1,17}$/;
/** The token's own, on every call. */
const TOKEN = 'token';

/** What is wrong with a request, gathered so that all of it is told at once. */
export class Problems {
  private readonly list: FieldProblem[] = [];

  get isFull(): boolean {
    return this.list.length >= MOST_PROBLEMS;
  }

  isEmpty(): boolean {
    return this.list.length === 0;
  }

  addAll({ list }: Problems): void {
    for (const { field, rule } of list) this.add(field, rule);
  }

  add(field: string, rule: string): void {
    if (!this.isFull) this.list.push({ field, rule });
  }

  /** @throws {InputError} there are some */
  settle(): void {
    if (this.list.length > 0) throw new InputError(this.list);
  }
}

/**
 * Takes what came as JSON for an object of a class: only the fields that the class declares, each checked. Nothing is coerced.
 *
 * @throws {InputError} naming each field that breaks its rule
 */
export function readFields<T extends object>(of: FieldsClass<T>, value: unknown): T {
  const problems = new Problems();
  const object = readObject(of, value, '', problems);
  problems.settle();
  return object;
}

/**
 * The parameters of a query, numbers and lists made of their texts.
 *
 * @throws {InputError} as `readFields`; a name that the call does not know is a problem too
 */
export function readQuery<T extends object>(of: FieldsClass<T>, query: Query): T {
  const fields = fieldsOf(of);
  const value: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, text] of Object.entries(query)) {
    if (name === TOKEN) continue;
    const field = fields.get(name);
    value[name] = field === undefined ? text : valueOf(field, text);
  }
  return readFields(of, value);
}

/** As `readFields`, for an object somewhere in a request. @param at its path, empty for the whole body */
export function readObject<T extends object>(
  of: FieldsClass<T>,
  value: unknown,
  at: string,
  problems: Problems,
): T {
  const object = new of();
  if (!isObject(value)) {
    problems.add(at, 'must be an object');
    return object;
  }
  const fields = fieldsOf(of);
  for (const [name, field] of fields) {
    // Never an inherited one: a body may call its fields what it likes.
    if (Object.hasOwn(value, name))
      Reflect.set(object, name, partsOf(field, value[name], at, name, problems));
    else if (field.of !== undefined && !field.isOptional) problems.add(below(at, name), 'is missing');
  }
  for (const name of Object.keys(value)) {
    if (problems.isFull) return object;
    if (!fields.has(name)) problems.add(below(at, name.slice(0, SHOWN_CHARACTERS)), 'is not known here');
  }
  for (const { property, constraints } of validateSync(object, { forbidUnknownValues: false })) {
    const rule = Object.values(constraints ?? {})[0];
    if (rule !== undefined) problems.add(below(at, property), rule);
  }
  return object;
}

function partsOf(
  { of, maxItems, isNullable }: DeclaredField,
  value: unknown,
  at: string,
  name: string,
  problems: Problems,
): unknown {
  if (of === undefined || (isNullable && value === null)) return value;
  const path = below(at, name);
  if (maxItems === undefined) return readObject(of(), value, path, problems);
  if (!Array.isArray(value) || value.length < 1 || value.length > maxItems) {
    problems.add(path, `must be a list of 1 to ${maxItems} objects`);
    return [];
  }
  const objects: object[] = [];
  for (let i = 0; i < value.length && !problems.isFull; i++) {
    objects.push(readObject(of(), value[i], `${path}[${i}]`, problems));
  }
  return objects;
}

function valueOf({ text: kind }: DeclaredField, text: string): unknown {
  if (kind === 'number') return WHOLE_NUMBER.test(text) ? Number(text) : text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return kind === 'list' ? text.split(',') : text;
}

function below(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
