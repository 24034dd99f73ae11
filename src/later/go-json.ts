/*
 * JSON as Go's `encoding/json` reads and writes it, which is later's wire: keys match in any case, the last of two equal
 * keys counts, null keeps what was there, and numbers of a struct are 64-bit integers without point or exponent.
 */

/** Deepest nesting that Go reads. */
const MAX_DEPTH = 10_000;
const INTEGER = /^-?\d+$/;
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const SPACES = new Set([' ', '\t', '\r', '\n']);

/** The fields of a Go struct with their types, by their JSON names in lower case. */
export type Fields = Readonly<Record<string, 'text' | 'integer'>>;

/** The values of the fields; the zero value of its type if a field is absent. */
export type Values<F extends Fields> = { readonly [K in keyof F]: F[K] extends 'text' ? string : bigint };

/** Reads a JSON object into fields; null where Go reports an error. */
export function readFields<F extends Fields>(bytes: Buffer, fields: F): Values<F> | null {
  const text = bytes.toString();
  if (!isJson(text)) return null;
  const members = membersOf(text);
  if (members === null) return null;
  const values = new Map<string, string | bigint>(
    Object.entries(fields).map(([name, type]) => [name, type === 'text' ? '' : 0n]),
  );
  for (const [key, literal] of members) {
    const name = folded(JSON.parse(key) as string);
    if (!Object.hasOwn(fields, name) || literal === 'null') continue;
    const value = fields[name] === 'text' ? textOf(literal) : integerOf(literal);
    if (value === null) return null;
    values.set(name, value);
  }
  return Object.fromEntries(values) as Values<F>;
}

/** True if a valid JSON object has more than one member for a field. */
export function hasTwice(bytes: Buffer, name: string): boolean {
  const keys = (membersOf(bytes.toString()) ?? []).map(([key]) => folded(JSON.parse(key) as string));
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

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : null;
}

/**
 * The members of the object in a valid JSON text, in order, as they are written. `JSON.parse` does not show equal keys,
 * nor the difference between 1 and 1.0.
 *
 * @returns no members for null; null for any other value, and for one that is nested too deeply
 */
function membersOf(text: string): (readonly [key: string, literal: string])[] | null {
  const members: (readonly [string, string])[] = [];
  let at = afterSpaces(text, 0);
  if (text.startsWith('null', at)) return members;
  if (text[at] !== '{') return null;
  at = afterSpaces(text, at + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    const start = afterSpaces(text, afterSpaces(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    if (end === null) return null;
    members.push([text.slice(at, keyEnd), text.slice(start, end)]);
    at = afterSpaces(text, end);
    if (text[at] === ',') at = afterSpaces(text, at + 1);
  }
  return members;
}

function afterSpaces(text: string, from: number): number {
  let at = from;
  while (SPACES.has(text[at] ?? '')) at += 1;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** @returns null if it is nested too deeply */
function valueEnd(text: string, from: number): number | null {
  let depth = 1;
  let at = from;
  for (;;) {
    const character = text[at] ?? '';
    if (character === '"') at = stringEnd(text, at);
    else {
      if (character === '{' || character === '[') depth += 1;
      // The end of a number or a word is the end of what it is in.
      if (depth === 1 && (/[,}\]]/.test(character) || SPACES.has(character))) return at;
      if (character === '}' || character === ']') depth -= 1;
      if (depth > MAX_DEPTH) return null;
      at += 1;
    }
    if (depth === 1 && /["}\]]/.test(text[at - 1] ?? '')) return at;
  }
}
