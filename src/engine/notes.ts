import { createHash } from 'node:crypto';
import { QueueError } from '../domain/errors.js';
import type { NewJob, OnceNote } from '../domain/job.js';
import { isIdempotencyKey } from '../domain/names.js';
import type { NewRichJob, PublishedJob } from '../domain/rich-job.js';
import { stateOf } from '../domain/states.js';
import { decodeId } from './ids.js';

/** A digest is cut to so many bytes: enough that nobody meets two alike by chance. */
const DIGEST_BYTES = 16;
/** No queue is called so: under it stand the keys of the native API, whose calls may be of many queues. */
const ALL_QUEUES = '';
/** What the note of a native call says of a job before its id: state, whether another one stands for it, length of the id. */
const FACTS_BYTES = 3;

/** What a call of lmstfy's kind asks for under an idempotency key. */
export interface OnceRequest {
  readonly queue: string;
  readonly jobs: readonly NewJob[];
  /** How it was called: a key counts for calls of one kind. */
  readonly kind: 'publish' | 'publishMany' | 'republish';
  /** The id whose place the job takes. */
  readonly replaces?: string;
}

/** Names the note of a key: on lmstfy's API a key counts for one queue. */
export function digestOf(queue: string, key: string): Buffer {
  return cut(createHash('sha256').update(`${queue}\0${key}`));
}

/** The note of a call of lmstfy's kind. @throws {QueueError} `invalid_argument` */
export function noteOf(key: string, request: OnceRequest): OnceNote {
  checkKey(key);
  const { kind, queue, jobs, replaces } = request;
  // No version of a script's arguments is in it: servers of two versions agree.
  const options = jobs.map(({ id, body, delayMs, ttlMs, tries, attributes }) => [
    id ?? null,
    body.length,
    delayMs,
    ttlMs,
    tries,
    attributes ? Object.entries(attributes) : null,
  ]);
  const fingerprint = fingerprintOf([kind, queue, replaces ?? null, options], jobs);
  return { digest: digestOf(queue, key), fingerprint, isNative: false };
}

/**
 * The note of a native publish, whichever lane its jobs go by: a queue may have got defaults between two attempts.
 *
 * @throws {QueueError} `invalid_argument`
 */
export function nativeNoteOf(key: string, jobs: readonly NewRichJob[]): OnceNote {
  checkKey(key);
  const options = jobs.map(({ body, ...rest }) => [
    body.length,
    Object.entries(rest).sort(([one], [other]) => (one < other ? -1 : 1)),
  ]);
  return {
    digest: digestOf(ALL_QUEUES, key),
    fingerprint: fingerprintOf(['v1', options], jobs),
    isNative: true,
  };
}

/** The jobs that a native call's note tells of, in order. */
export function decodeNote(bytes: Buffer): PublishedJob[] {
  const jobs: PublishedJob[] = [];
  for (let at = 0; at < bytes.length;) {
    const [state = 0, existing = 0, size = 0] = bytes.subarray(at, at + FACTS_BYTES);
    at += FACTS_BYTES + size;
    jobs.push({
      id: decodeId(bytes.subarray(at - size, at)),
      state: state === 0 ? 'gone' : stateOf(state),
      existing: existing === 1,
    });
  }
  return jobs;
}

/** The ids that another call's note tells of. Several were minted, and are as long as each other; one alone may be of any length. */
export function decodeIds(bytes: Buffer, count: number): string[] {
  const size = bytes.length / count;
  return Array.from({ length: count }, (_, i) => decodeId(bytes.subarray(i * size, (i + 1) * size)));
}

/** The error of a key that came with another request before. */
export function keyReused(): QueueError {
  return new QueueError('idempotency_key_reused', 'the idempotency key was used for another request');
}

function checkKey(key: string): void {
  if (!isIdempotencyKey(key))
    throw new QueueError('invalid_argument', 'idempotencyKey has 1 to 255 visible ASCII characters');
}

/** What must be the same when a key comes again. */
function fingerprintOf(facts: unknown, jobs: readonly { readonly body: Buffer }[]): Buffer {
  const hash = createHash('sha256').update(`${JSON.stringify(facts)}\n`);
  for (const { body } of jobs) hash.update(body);
  return cut(hash);
}

function cut(hash: ReturnType<typeof createHash>): Buffer {
  return hash.digest().subarray(0, DIGEST_BYTES);
}
