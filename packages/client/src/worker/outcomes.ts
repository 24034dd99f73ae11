import type { EncodedPayload, FailureReport, NextQueue } from '../driver.js';
import { dataJson } from '../producer/data-json.js';

export interface FailureOptions {
  /** Names the kind of failure: `non_retryable` of a retry policy and the dead letter go by it. 1 … 128 characters. */
  readonly group?: string | undefined;
  readonly cause?: unknown;
}

/** Thrown by a handler: try the job again, by its retry policy or after `delayMs`. */
export class Retry extends Error {
  override readonly name: string = 'Retry';
  readonly group: string | undefined;
  readonly delayMs: number | undefined;

  constructor(message: string, options: FailureOptions & { readonly delayMs?: number | undefined } = {}) {
    super(message, { cause: options.cause });
    this.group = options.group;
    this.delayMs = options.delayMs;
  }
}

/** Thrown by a handler: the job has failed for good, and goes to the dead letter. */
export class Fail extends Error {
  override readonly name: string = 'Fail';
  readonly group: string | undefined;

  constructor(message: string, options: FailureOptions = {}) {
    super(message, { cause: options.cause });
    this.group = options.group;
  }
}

/** Thrown by a handler: give the job back, at once or after `delayMs`. Its try is not used. */
export class Release extends Error {
  override readonly name: string = 'Release';
  readonly delayMs: number | undefined;

  constructor(options: { readonly delayMs?: number | undefined } = {}) {
    super('the job is given back');
    this.delayMs = options.delayMs;
  }
}

/** Returned by a handler: the job goes on in another queue, with its id, its timeline and fresh tries. */
export class Next {
  readonly next: NextQueue;
  /** Replaces the job's data. */
  readonly data: unknown;

  constructor(next: NextQueue & { readonly data?: unknown }) {
    const { data, delayMs: given, ...queue } = next;
    const delayMs = wholeDelay(given);
    this.next = delayMs === undefined ? queue : { ...queue, delayMs };
    this.data = data;
  }
}

/** An outcome that is to be thrown, but was returned: as JSON it would settle the job as done. */
export function isThrowable(returned: unknown): returned is Error {
  return isA(returned, Retry) || isA(returned, Fail) || isA(returned, Release);
}

/** Returned by a handler: bytes as the result, with their type. Bytes alone are `application/octet-stream`. */
export class Bytes {
  constructor(
    readonly data: Uint8Array,
    readonly contentType: string,
  ) {}
}

const MAX_GROUP = 128;
const MAX_MESSAGE = 16_384;
const MAX_LOG_LINE = 1_024;
/** At the end of a text that was cut. */
const CUT = '…';
/** The longest delay that the API takes. */
const MAX_DELAY_MS = 4_294_967_295_000;
const FAILED = 'failed';
/** The group of a job whose outcome the server refuses. */
export const INVALID_OUTCOME = 'invalid_outcome';

/** How a job ends that its handler has not done. */
export type Ending =
  | ({ readonly kind: 'retry' } & FailureReport & { readonly delayMs: number | undefined })
  | ({ readonly kind: 'fail' } & FailureReport)
  | { readonly kind: 'release'; readonly delayMs: number | undefined };

/**
 * What a thrown value means. It may be anything: its texts are repaired and cut, its delays rounded and clamped, and what
 * cannot be read counts as left out.
 *
 * @param isToRelease an error that says nothing else gives the job back
 */
export function endingOf(thrown: unknown, isToRelease: boolean): Ending {
  if (isA(thrown, Release)) return { kind: 'release', delayMs: delayOf(thrown) };
  if (isA(thrown, Fail)) return { kind: 'fail', ...failureOf(thrown) };
  if (isA(thrown, Retry)) return { kind: 'retry', ...failureOf(thrown), delayMs: delayOf(thrown) };
  // guard: client-aborted-keeps-try
  if (isToRelease) return { kind: 'release', delayMs: undefined };
  return { kind: 'retry', ...failureOf(thrown), delayMs: undefined };
}

/**
 * Group and message of what a handler has thrown; both within the bounds of the API. An object with a message counts as
 * an error: it may be one of another realm.
 */
export function failureOf(error: unknown): FailureReport {
  if (!isErrorLike(error)) return { group: FAILED, message: cut(textOf(error), MAX_MESSAGE) };
  const isOwn = isA(error, Retry) || isA(error, Fail);
  const [group, name, stack, message] = ['group', 'name', 'stack', 'message'].map((field) =>
    read(error, field),
  );
  const code = read(error, 'code');
  const named = isOwn ? group : typeof code === 'string' ? code : name;
  const shown = isOwn || stack === undefined || stack === '' ? message : stack;
  return {
    // The API refuses control characters in names.
    group: cut(textOf(named ?? '').replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' '), MAX_GROUP) || FAILED,
    message: cut(textOf(shown ?? ''), MAX_MESSAGE),
  };
}

/** A delay as the API takes it; undefined for none, and for what is no number. */
export function wholeDelay(delayMs: unknown): number | undefined {
  if (typeof delayMs !== 'number' || Number.isNaN(delayMs)) return undefined;
  return /* guard: delays-are-whole */ Math.min(Math.max(Math.round(delayMs), 0), MAX_DELAY_MS);
}

function delayOf(thrown: object): number | undefined {
  return wholeDelay(read(thrown, 'delayMs'));
}

/** `instanceof`, which fails for a proxy that is revoked. */
export function isA<T>(value: unknown, of: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof of;
  } catch {
    return false;
  }
}

/** A field of an object, whose getter may throw. */
function read(object: object, field: string): unknown {
  try {
    return (object as Readonly<Record<string, unknown>>)[field];
  } catch {
    return undefined;
  }
}

/** A text for any value; for a list, and an object without one, its JSON. */
export function textOf(value: unknown): string {
  const text = tried(() => String(value));
  const hasOwn =
    text !== undefined && text !== '[object Object]' && tried(() => Array.isArray(value)) !== true;
  return (
    (hasOwn ? text : (tried(() => JSON.stringify(value) as string | undefined) ?? text)) ??
    `a value of the type ${typeof value} that cannot be shown`
  );
}

function isErrorLike(value: unknown): value is object {
  if (isA(value, Error)) return true;
  return typeof value === 'object' && value !== null && typeof read(value, 'message') === 'string';
}

function tried<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A line of a job's log as the API takes it. */
export function logLine(message: unknown): string {
  return cut(textOf(message), MAX_LOG_LINE);
}

/** At most `length` UTF-16 units, with a mark if it was longer, and no half of a surrogate pair, which JSON cannot carry. */
function cut(text: string, length: number): string {
  const shown = text.length > length ? text.slice(0, length - CUT.length) + CUT : text;
  return shown.replaceAll(/\p{Surrogate}/gu, '\u{fffd}');
}

/**
 * What a handler returned, as it is stored; undefined for undefined.
 *
 * @param at what it is, for errors
 * @throws {TypeError} it is no JSON
 */
export function encode(value: unknown, at: string): EncodedPayload | undefined {
  if (value === undefined) return undefined;
  if (value instanceof Uint8Array) return { bytes: value };
  if (value instanceof Bytes)
    return { bytes: value.data, /* guard: client-bytes-keep-type */ contentType: value.contentType };
  return { json: dataJson(value, at) };
}
