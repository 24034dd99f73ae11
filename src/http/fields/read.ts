import { didYouMean } from '../../domain/similar-name.js';
import { type FieldProblem, InputError } from '../answer/errors.v1.js';
import { NO_QUERY, type Query, valuesOf } from '../request/head.js';
import { type DeclaredField, type FieldsClass, fieldsOf } from './field.js';
import { isObject } from './kinds.js';

/**
 * Maximum number of listed problems: a mistake that is repeated a thousand times need not be listed a thousand times.
 */
const MOST_PROBLEMS = 20;
/** Max characters of an unknown field name echoed back. */
const SHOWN_CHARACTERS = 40;
const UNKNOWN = 'unknown field';
const WHOLE_NUMBER = /^-?[0-9]{1,17}$/;
/** Parameter of the token, allowed on every call. */
const TOKEN = 'token';

/** Collects the problems of a request, to report them all at once. */
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

  /** @throws {InputError} if there are problems */
  settle(): void {
    if (this.list.length > 0) throw new InputError(this.list);
  }
}

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
 * Reads the parameters of a query, parsing numbers and lists from their texts.
 *
 * @throws {InputError} as `readFields`; an unknown parameter is a problem too
 */
export function readQuery<T extends object>(of: FieldsClass<T>, query: Query, text = ''): T {
  const fields = fieldsOf(of);
  const value: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, first] of Object.entries(query)) {
    if (name === TOKEN) continue;
    const field = fields.get(name);
    if (field?.text === 'repeated') value[name] = valuesOf(text, name);
    else value[name] = field === undefined ? first : valueOf(field, first);
  }
  return readFields(of, value);
}

/** Problems for unknown parameters of a call. @param of class of its known parameters; default: none */
export function unknownIn(query: Query, of?: FieldsClass): FieldProblem[] {
  const known = of && fieldsOf(of);
  const unknown = Object.keys(query).filter((name) => name !== TOKEN && known?.has(name) !== true);
  return unknown.slice(0, MOST_PROBLEMS).map((name) => unknownField(name, known?.keys() ?? []));
}

/** The problem of an unknown field, with the known one that may be meant. */
function unknownField(name: string, known: Iterable<string>): FieldProblem {
  const field = name.slice(0, SHOWN_CHARACTERS);
  return { field, rule: `${UNKNOWN}${didYouMean(field, known)}` };
}

/** Rejects all parameters, for a call without any. @throws {InputError} naming each */
export function refuseParameters(query: Query): void {
  if (query === NO_QUERY) return;
  const problems = unknownIn(query);
  if (problems.length > 0) throw new InputError(problems);
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
    problems.add(at, 'must be an object');
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
      problems.add(below(at, name), parts === undefined ? rule : 'is missing');
  }
  for (const [name, one] of defaults) if (!Object.hasOwn(value, name)) value[name] = one;
  return value as T;
}

function checkField(
  { isRight, isNullable, rule, of, maxItems, minItems = 1 }: DeclaredField,
  value: unknown,
  at: string,
  name: string,
  problems: Problems,
): void {
  if (isNullable && value === null) return;
  if (of === undefined) {
    if (!isRight(value)) problems.add(below(at, name), rule);
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

function valueOf({ text: kind }: DeclaredField, text: string): unknown {
  if (kind === 'number') return WHOLE_NUMBER.test(text) ? Number(text) : text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return kind === 'list' ? text.split(',') : text;
}

function below(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
