/** What has no JSON of its own, with what to write in its place. */
const WITHOUT_JSON: Readonly<Record<string, string>> = {
  Map: 'use Object.fromEntries(map)',
  Set: 'use [...set]',
  ArrayBuffer: 'use base64 text',
  Promise: 'await it',
  RegExp: 'use its source',
  Error: 'use its message',
  WeakMap: 'leave it out',
  WeakSet: 'leave it out',
};

/**
 * The JSON of the data of a job. `JSON.stringify` alone would make null of NaN and `{}` of a `Map`, without a sign of it.
 *
 * @param at the path of the data, for errors
 * @throws {TypeError} it names the first place that is no JSON
 */
export function dataJson(data: unknown, at = 'data'): string {
  check(data, [at], new Set());
  return JSON.stringify(data);
}

function check(value: unknown, path: (string | number)[], inside: Set<object>): void {
  if (typeof value !== 'object' || value === null) {
    checkScalar(value, path);
    return;
  }
  if (value instanceof Date && Number.isNaN(value.getTime()))
    refuse(path, 'an Invalid Date', 'was it made from undefined?');
  if ('toJSON' in value && typeof value.toJSON === 'function') return;
  if (inside.has(value)) refuse(path, 'an object that contains itself', 'leave that place out');
  inside.add(value);
  if (Array.isArray(value)) checkItems(value, path, inside);
  else checkFields(value, path, inside);
  inside.delete(value);
}

function checkItems(items: readonly unknown[], path: (string | number)[], inside: Set<object>): void {
  for (let i = 0; i < items.length; i++) {
    path.push(i);
    if (items[i] === undefined) refuse(path, 'undefined', 'use null');
    check(items[i], path, inside);
    path.pop();
  }
}

function checkFields(object: object, path: (string | number)[], inside: Set<object>): void {
  const kind = Object.prototype.toString.call(object).slice('[object '.length, -1);
  const named = `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}`;
  if (ArrayBuffer.isView(object)) refuse(path, named, 'use base64 text, or bytes as the whole data');
  const remedy = Object.hasOwn(WITHOUT_JSON, kind) ? WITHOUT_JSON[kind] : undefined;
  if (remedy !== undefined) refuse(path, named, remedy);
  for (const [name, field] of Object.entries(object)) {
    path.push(name);
    // A field that is undefined is one that is left out.
    if (field !== undefined) check(field, path, inside);
    path.pop();
  }
}

function checkScalar(value: unknown, path: readonly (string | number)[]): void {
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(path, String(value), 'use null or text');
  if (typeof value === 'bigint') refuse(path, 'a bigint', 'use Number() or String()');
  if (typeof value === 'function' || typeof value === 'symbol' || value === undefined)
    refuse(path, typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`, 'leave it out');
}

function refuse(path: readonly (string | number)[], kind: string, remedy: string): never {
  const at = path.reduce<string>(
    (text, step) => text + (typeof step === 'number' ? `[${String(step)}]` : text === '' ? step : `.${step}`),
    '',
  );
  throw new TypeError(`${at}: must be a JSON value, not ${kind}: ${remedy}`);
}
