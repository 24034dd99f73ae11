import { declare, type FieldsClass, fieldsOf, type Plain } from '../contract/fields/field.js';
import { JsonScanner } from '../contract/json/scanner.js';

/*
 * JSON as Go's `encoding/json` reads and writes it, which is later's wire: keys match in any case, the last of two equal
 * keys counts, null keeps what was there, and numbers of a struct are 64-bit integers without point or exponent.
 */

/** More values than a body of `limits.max_body_bytes` has, as it is by default. */
const MAX_VALUES = 100_000;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const INTEGER = /^-?\d+$/;
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** A Go string: any text. */
export function GoText(about: string): PropertyDecorator {
  return declare(
    { schema: { type: 'string' }, about },
    'must be a text',
    (value) => typeof value === 'string',
  );
}

/** A Go `int64`, which is a `bigint` here. */
export function GoInteger(about: string): PropertyDecorator {
  const schema = { type: 'integer', format: 'int64' };
  return declare({ schema, about, text: 'number' }, 'must be an integer of 64 bits', (value) =>
    isInt64(value),
  );
}

/** Reads a JSON object as a Go struct, whose absent fields have the zero value of their type; null where Go reports an error. */
export function readStruct<T extends object>(bytes: Buffer, of: FieldsClass<T>): Plain<T> | null {
  const members = membersOf(bytes);
  if (members === null) return null;
  const fields = fieldsOf(of);
  const values = new Map<string, unknown>(
    [...fields].map(([name, { text }]) => [name, text === 'number' ? 0n : '']),
  );
  for (const [key, literal] of members) {
    const name = folded(JSON.parse(key) as string);
    const field = fields.get(name);
    if (field === undefined || literal === 'null') continue;
    const value = field.text === 'number' ? integerOf(literal) : textOf(literal);
    if (value === null) return null;
    values.set(name, value);
  }
  return Object.fromEntries(values) as Plain<T>;
}

/** Writes a Go struct: its fields in the order in which they are declared. @param textOf writes a text as JSON */
export function structJson<T extends object>(of: FieldsClass<T>, value: Plain<T>, textOf = goString): string {
  const values = value as Readonly<Record<string, string | bigint>>;
  const members = [...fieldsOf(of).keys()].map((name) => {
    const one = values[name] ?? '';
    return `"${name}":${typeof one === 'string' ? textOf(one) : String(one)}`;
  });
  return `{${members.join(',')}}`;
}

/** True if a valid JSON object has more than one member for a field. */
export function hasTwice(bytes: Buffer, name: string): boolean {
  const keys = (membersOf(bytes) ?? []).map(([key]) => folded(JSON.parse(key) as string));
  return keys.filter((key) => key === name).length > 1;
}

/** A text as a JSON string, with the characters escaped that Go escapes. */
export function goString(text: string): string {
  return JSON.stringify(text).replace(/\\(.)|[<>&\u2028\u2029]/gs, (found, escaped?: string) => {
    if (escaped === 'b') return '\\u0008';
    if (escaped === 'f') return '\\u000c';
    if (escaped !== undefined) return found;
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Go folds ASCII letters, and two other characters whose upper or lower case is one. */
function folded(key: string): string {
  return key
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replaceAll('\u212a', 'k')
    .replaceAll('\u017f', 's');
}

/** Lone surrogates become U+FFFD. */
function textOf(literal: string): string | null {
  return literal.startsWith('"') ? Buffer.from(JSON.parse(literal) as string).toString() : null;
}

function integerOf(literal: string): bigint | null {
  // 20 characters at most: a huge number would take long to convert.
  if (!INTEGER.test(literal) || literal.length > 20) return null;
  const value = BigInt(literal);
  return isInt64(value) ? value : null;
}

function isInt64(value: unknown): boolean {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/**
 * The members of an object, in order, as they are written. `JSON.parse` does not show equal keys, nor the difference
 * between 1 and 1.0.
 *
 * @returns no members for null; null for any other value, for one that is nested too deeply, and for what is not JSON
 */
function membersOf(bytes: Buffer): (readonly [key: string, literal: string])[] | null {
  const scanner = new JsonScanner(bytes);
  scanner.maxValues = MAX_VALUES;
  const members: (readonly [string, string])[] = [];
  const textFrom = (start: number): string => bytes.toString('utf8', start, scanner.at);
  if (scanner.peek() !== OPEN_OBJECT) {
    const start = scanner.at;
    return scanner.value() && textFrom(start) === 'null' && scanner.end() ? members : null;
  }
  scanner.open(OPEN_OBJECT);
  if (!scanner.takes(CLOSE_OBJECT)) {
    do {
      scanner.peek();
      const start = scanner.at;
      if (!scanner.name()) return null;
      const key = bytes.toString('utf8', start, scanner.nameEnd);
      scanner.peek();
      const from = scanner.at;
      if (!scanner.value()) return null;
      members.push([key, textFrom(from)]);
    } while (scanner.takes(COMMA));
    if (!scanner.takes(CLOSE_OBJECT)) return null;
  }
  return scanner.end() ? members : null;
}
