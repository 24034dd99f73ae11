import type { EncodedPayload, NextQueue } from '../driver.js';
import { jsonOf } from '../producer/new-job.js';

export interface FailureOptions {
  /** Names the kind of failure: `non_retryable` of a retry policy and the dead letter go by it. 1 … 128 characters. */
  readonly group?: string;
  readonly cause?: unknown;
}

/** Thrown by a handler: try the job again, by its retry policy or after `delayMs`. */
export class Retry extends Error {
  override readonly name: string = 'Retry';
  readonly group: string | undefined;
  readonly delayMs: number | undefined;

  constructor(message: string, options: FailureOptions & { readonly delayMs?: number } = {}) {
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

  constructor(options: { readonly delayMs?: number } = {}) {
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
    const { data, ...queue } = next;
    this.next = queue;
    this.data = data;
  }
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
const FAILED = 'failed';

/** Group and message of an error that a handler has thrown; both within the bounds of the API. */
export function failureOf(error: unknown): { group: string; message: string } {
  if (!(error instanceof Error)) return { group: FAILED, message: String(error).slice(0, MAX_MESSAGE) };
  const { code } = error as { code?: unknown };
  const isOwn = error instanceof Retry || error instanceof Fail;
  const group = isOwn ? error.group : typeof code === 'string' ? code : error.name;
  return {
    // The API refuses control characters in names.
    group: (group ?? FAILED).replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ').slice(0, MAX_GROUP) || FAILED,
    message: (isOwn ? error.message : (error.stack ?? error.message)).slice(0, MAX_MESSAGE),
  };
}

/** What a handler returned, as it is stored; undefined for undefined. */
export function encode(value: unknown): EncodedPayload | undefined {
  if (value === undefined) return undefined;
  if (value instanceof Uint8Array) return { bytes: value };
  if (value instanceof Bytes) return { bytes: value.data, contentType: value.contentType };
  return { json: jsonOf(value) };
}
