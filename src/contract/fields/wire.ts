import { isoTime } from '../../domain/iso-time.js';
import { momentOf } from '../../domain/moment.js';
import { type DeclaredField, type FieldsClass, fieldsOf, isOpen, type Plain } from './field.js';

/*
 * One conversion between the wire and the inside: `ttl_ms` is `ttlMs`, and a time `due_at` (ISO 8601) is `dueAtMs` (Unix ms). What a
 * class does not declare with fields of its own, such as data and attributes, stays as it is.
 */

/** `ttlMs` of `ttl_ms`. */
type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type IsTime<Name, Value> = Name extends 'at' | `${string}_at` | `${string}_until`
  ? string extends Value
    ? true
    : false
  : false;
type InsideName<Name, Value> = IsTime<Name, Value> extends true ? `${Camel<Name> & string}Ms` : Camel<Name>;
type InsideValue<Name, Value> =
  IsTime<Name, Value> extends true
    ? Exclude<Value, string> | number
    : Value extends readonly (infer Item)[]
      ? readonly InsideValue<'', Item>[]
      : Value extends object
        ? string extends keyof Value
          ? Value
          : Inside<Value>
        : Value;

/** An object with the fields of a class, as the engine has it. */
export type Inside<T extends object> = {
  readonly [K in keyof T as InsideName<K, NonNullable<T[K]>>]: InsideValue<K, T[K]>;
};
/** The same as answers of the in-process client have it: `dueAt`, ISO 8601. */
export type Shown<T extends object> = {
  readonly [K in keyof T as Camel<K>]: ShownValue<T[K]>;
};
type ShownValue<Value> = Value extends readonly (infer Item)[]
  ? readonly ShownValue<Item>[]
  : Value extends object
    ? string extends keyof Value
      ? Value
      : Shown<Value>
    : Value;

/** How a field is converted. */
interface Rule {
  readonly wire: string;
  readonly inside: string;
  readonly shown: string;
  readonly isTime: boolean;
  readonly of: (() => FieldsClass) | undefined;
}
/** The form that an answer is written in. */
type Form = 'wire' | 'shown';

const TIME = /(?:^|_)(?:at|until)$/;
const RULES = new Map<FieldsClass, readonly Rule[]>();

/** The name inside of a field. */
export function insideName(name: string, field: DeclaredField): string {
  return isTime(name, field) ? `${camelOf(name)}Ms` : camelOf(name);
}

/** True for points in time by their names: others have names of their own inside. */
function isTime(name: string, { isMoment }: DeclaredField): boolean {
  return isMoment === true && TIME.test(name);
}

/** What an answer is written of: its fields as the engine has them. Optional ones may be undefined, and are left out. */
export type Facts<T extends object> = Loose<Inside<T>>;

/** An object of the engine in the format of the API. */
export function toWire<T extends object>(of: FieldsClass<T>, value: Facts<T>): Plain<T> {
  return written(of, value, 'wire') as Plain<T>;
}

/** An object of the engine in the form of the in-process client, likewise. */
export function toShown<T extends object>(of: FieldsClass<T>, value: Facts<T>): Shown<T> {
  return written(of, value, 'shown') as Shown<T>;
}

/** Fields of a request that were checked, as the engine has them: what is left out stays left out. */
export function toInside<T extends object>(of: FieldsClass<T>, value: T): Inside<T> {
  const inside: Record<string, unknown> = {};
  const given = value as Readonly<Record<string, unknown>>;
  for (const rule of rulesOf(of)) {
    const field = given[rule.wire];
    if (field !== undefined) inside[rule.inside] = insideOf(rule, field);
  }
  return inside as Inside<T>;
}

/** Optional fields may also be undefined. */
type Loose<T> = { readonly [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] };

function insideOf({ isTime: isOne, of }: Rule, field: unknown): unknown {
  if (field === null || (of === undefined && !isOne)) return field;
  if (isOne) return momentOf(field);
  const part = (of as () => FieldsClass)();
  return Array.isArray(field)
    ? field.map((one: object) => toInside(part, one))
    : toInside(part, field as object);
}

function written(of: FieldsClass, value: object, form: Form): object {
  const object: Record<string, unknown> = {};
  const inside = value as Readonly<Record<string, unknown>>;
  for (const rule of rulesOf(of)) {
    const field = inside[rule.inside];
    if (field !== undefined) object[rule[form]] = writtenField(rule, field, form);
  }
  return isOpen(of) ? { ...object, ...furtherOf(of, inside, form) } : object;
}

function furtherOf(of: FieldsClass, value: Readonly<Record<string, unknown>>, form: Form): object {
  const declared = new Set(rulesOf(of).map(({ inside }) => inside));
  const further = Object.entries(value).filter(([name]) => !declared.has(name));
  return Object.fromEntries(further.map(([name, one]) => [form === 'wire' ? name : camelOf(name), one]));
}

function writtenField({ isTime: isOne, of }: Rule, field: unknown, form: Form): unknown {
  if (field === null || (of === undefined && !isOne)) return field;
  if (isOne) return isoTime(field as number);
  const part = (of as () => FieldsClass)();
  return Array.isArray(field)
    ? field.map((one: object) => written(part, one, form))
    : written(part, field as object, form);
}

function rulesOf(of: FieldsClass): readonly Rule[] {
  let rules = RULES.get(of);
  if (rules === undefined) {
    rules = [...fieldsOf(of)].map(([wire, field]) => ({
      wire,
      inside: insideName(wire, field),
      shown: camelOf(wire),
      isTime: isTime(wire, field),
      of: field.of,
    }));
    RULES.set(of, rules);
  }
  return rules;
}

/** Inside a few fields have other names than on the wire. */
const OWN_NAMES: Readonly<Record<string, string>> = { timeZone: 'tz', dueMs: 'run_at' };

/** The path on the wire of a field that has another one inside: `schedule.end_at` of `schedule.endAtMs`. */
export function wirePath(inside: string): string {
  return pathOf(inside, (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** The same path in the in-process client: `schedule.endAt`. */
export function shownPath(inside: string): string {
  return pathOf(inside, camelOf);
}

function pathOf(inside: string, convert: (name: string) => string): string {
  const names = inside.split('.').map((name) => {
    return convert(OWN_NAMES[name] ?? name.replace(/(At|Until)Ms$/, '$1'));
  });
  return names.join('.');
}

/** `ttlMs` of `ttl_ms`. */
export function camelOf(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
