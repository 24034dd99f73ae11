import type { Dependency } from './dependency.js';
import type { Given } from './optional.js';

/** JSON between the API's form (`snake_case`, ISO times, base64) and the library's (`camelCase`, `Date`s in requests, bytes). */

/** Values of these fields belong to the user: their keys stay as they are. */
export const OPAQUE: ReadonlySet<string> = new Set([
  ...['data', 'attributes', 'progress', 'failed_dependencies', 'failedDependencies', 'headers', 'value'],
  // Of fair keys.
  'weights',
]);

const snakeNames = new Map<string, string>();
const camelNames = new Map<string, string>();

/**
 * Options as they are meant, for drivers that write no JSON: undefined fields, which would hide a default, are left out,
 * and fractions of milliseconds are rounded up.
 */
export function givenOptions<T extends object>(options: T): Given<T> {
  return plain(options, '') as Given<T>;
}

function plain(value: unknown, at: string): unknown {
  if (Array.isArray(value)) return value.map((one, i) => plain(one, `${at}[${String(i)}]`));
  if (typeof value !== 'object' || value === null || value instanceof Date) return checked(value, at);
  const given: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    given[name] = OPAQUE.has(name) ? (field as unknown) : plain(durationOf(name, field), below(at, name));
  }
  return given;
}

/**
 * An object of the library as the API has it; undefined fields are left out.
 *
 * @param at its path, for errors; empty for the whole of what a call gets
 * @throws {TypeError} naming the field: a `Date` without a time, NaN, an infinite number, a bigint
 */
export function toWire(value: unknown, at = ''): unknown {
  if (value instanceof Date) return checked(value, at).toISOString();
  if (Array.isArray(value)) return value.map((one, i) => toWire(one, `${at}[${String(i)}]`));
  if (typeof value !== 'object' || value === null) return checked(value, at);
  const wire: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    wire[snakeOf(name)] = OPAQUE.has(name)
      ? (field as unknown)
      : toWire(durationOf(name, field), below(at, name));
  }
  return wire;
}

/** The path of a field. */
export function below(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

/** JSON has none of these: it would become null, or an error that names no field. */
function checked<T>(value: T, at: string): T {
  const field = at === '' ? 'value' : at;
  if (value instanceof Date && Number.isNaN(value.getTime()))
    throw new TypeError(
      `${field}: must be a valid Date, and this one is an Invalid Date: was it made from undefined, or from another form than 2030-01-31T12:00:00Z?`,
    );
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(
      `${field}: must be a finite number, not ${String(value)}: leave it out for the default`,
    );
  if (typeof value === 'bigint')
    throw new TypeError(`${field}: must be a number, not a bigint: use Number()`);
  return value;
}

/** The API takes whole milliseconds: a fraction is rounded up, so that nothing comes early. Other fields stay as they are. */
function durationOf(name: string, field: unknown): unknown {
  if (!name.endsWith('Ms')) return field;
  const whole = (ms: unknown): unknown => (typeof ms === 'number' && ms > 0 ? Math.ceil(ms) : ms);
  return Array.isArray(field) ? field.map(whole) : whole(field);
}

/** An answer of the API as the library shows it: bytes of `data_base64` become `data`. */
export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire);
  if (typeof value !== 'object' || value === null) return value;
  const shown: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (name === 'data_base64') shown['data'] = fromBase64(String(field));
    else if (name === 'dependencies' && Array.isArray(field))
      shown[name] = field.map((one) => dependencyOf(one as WireDependency));
    else shown[camelOf(name)] = OPAQUE.has(name) ? (field as unknown) : fromWire(field);
  }
  return shown;
}

/** A dependency as the API writes it. */
export interface WireDependency {
  readonly id: string;
  readonly state: string;
  readonly result?: unknown;
  readonly result_base64?: string;
  readonly result_type?: string;
  readonly truncated?: true;
}

/** A result belongs to the user: its keys stay as they are. */
export function dependencyOf({ result_base64, result_type, ...rest }: WireDependency): Dependency {
  return {
    ...rest,
    ...(result_base64 === undefined ? {} : { result: fromBase64(result_base64) }),
    ...(result_type === undefined ? {} : { resultType: result_type }),
  };
}

function snakeOf(name: string): string {
  let snake = snakeNames.get(name);
  if (snake === undefined) {
    snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, snake);
  }
  return snake;
}

/** `delayMs` of `delay_ms`. */
export function camelOf(name: string): string {
  let camel = camelNames.get(name);
  if (camel === undefined) {
    camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    // Field names of the API are few; names of a stranger server must not fill the memory.
    if (camelNames.size < 1_000) camelNames.set(name, camel);
  }
  return camel;
}

interface BytesCodec {
  from(bytes: ArrayBufferLike, offset: number, length: number): { toString(encoding: 'base64'): string };
  from(text: string, encoding: 'base64'): Uint8Array;
}
/** Node.js, Deno and Bun have it, and it is many times faster than `btoa`. */
const codec = (globalThis as { Buffer?: BytesCodec }).Buffer;
/** `String.fromCharCode` takes a bounded number of arguments. */
const CHUNK = 8_192;

export function toBase64(bytes: Uint8Array): string {
  if (codec) return codec.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array {
  if (codec) return codec.from(text, 'base64');
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
