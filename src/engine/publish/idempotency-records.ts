import { hash } from 'node:crypto';
import { QueueError } from '../../domain/errors.js';
import type { IdempotencyRecord, NewJob } from '../../domain/job/job.js';
import { isIdempotencyKey } from '../../domain/ids.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import type { PublishedJob } from '../../domain/job/extended-job.js';
import { stateOf } from '../../domain/job/states.js';
import { readIdempotencyRecord } from '../../redis/scripts/simple.js';
import { checkNames } from '../core/checks.js';
import { decodeId } from '../core/ids.js';
import type { BatchCall, ScriptRunner } from '../core/scripts.js';

/** Codes of lua/commands/simple/read_idempotency_record.lua. */
const NO_RECORD = 0;
const RECORD_OF_ANOTHER_REQUEST = 2;
/** Size of a digest in bytes: enough to make accidental collisions practically impossible. */
const DIGEST_BYTES = 16;
/** Not a legal queue name: keys of the native API belong to no queue, because its calls may be for many queues. */
const ALL_QUEUES = '';
/** Bytes per job before its id in a native record: state, whether it is an existing job, length of the id. */
const FACTS_BYTES = 3;

/** A publish of the lmstfy API with an idempotency key. */
export interface IdempotentRequest {
  readonly queue: string;
  readonly jobs: readonly NewJob[];
  /** Method of the call: a key is valid for calls of one kind. */
  readonly kind: 'publish' | 'publishMany' | 'republish';
  /** Id of the job that is replaced. */
  readonly replaces?: string;
}

/** Digest that identifies the record of a key: on lmstfy's API a key is valid for one queue. */
export function digestOf(queue: string, key: string): Buffer {
  return hashOf(`${queue}\0${key}`);
}

/** The record of a publish of the lmstfy API. @throws {QueueError} `invalid_argument` */
export function idempotencyRecordOf(key: string, request: IdempotentRequest): IdempotencyRecord {
  checkKey(key);
  const { kind, queue, jobs, replaces } = request;
  // Independent of the version of the script's arguments: servers of two versions agree.
  const options = jobs.map(({ id, body, delayMs, ttlMs, tries, attributes }) => [
    id ?? null,
    body.length,
    delayMs,
    ttlMs,
    tries,
    attributes ? Object.entries(attributes) : null,
  ]);
  const facts = JSON.stringify([kind, queue, replaces ?? null, options]);
  const fingerprint = fingerprintOf(facts, jobs);
  return { digest: digestOf(queue, key), fingerprint, isNative: false };
}

/**
 * The record of a native publish, independent of the path of its jobs: a queue may get defaults between two attempts.
 *
 * @throws {QueueError} `invalid_argument`
 */
export function nativeIdempotencyRecordOf(key: string, jobs: readonly NewExtendedJob[]): IdempotencyRecord {
  checkKey(key);
  const facts = `["v1",[${jobs.map(factsOf).join()}]]`;
  return { digest: digestOf(ALL_QUEUES, key), fingerprint: fingerprintOf(facts, jobs), isNative: true };
}

/** `[length of the body,[[name,value],…]]` as JSON, in the order of the names. Half the time of `JSON.stringify`. */
function factsOf(job: NewExtendedJob): string {
  let pairs = '';
  for (const name of Object.keys(job).sort()) {
    // guard: fingerprint-has-all-fields
    if (name === 'body') continue;
    const value: unknown = job[name as keyof NewExtendedJob];
    const pair = `["${name}",${value === undefined ? 'null' : JSON.stringify(value)}]`;
    pairs = pairs === '' ? pair : `${pairs},${pair}`;
  }
  return `[${String(job.body.length)},[${pairs}]]`;
}

/** Decodes the jobs of a native record, in order. */
export function decodeIdempotencyRecord(bytes: Buffer): PublishedJob[] {
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

/**
 * Decodes the ids of another record. Several ids were minted and have the same length; a single one may have any
 * length.
 */
export function decodeIds(bytes: Buffer, count: number): string[] {
  const size = bytes.length / count;
  return Array.from({ length: count }, (_, i) => decodeId(bytes.subarray(i * size, (i + 1) * size)));
}

/**
 * True if a record is that of an earlier request. A script that was sent again, because its reply was lost, finds the
 * record of its own call: with the ids that were minted for it.
 *
 * @param ids given and minted for this call, in the order of the jobs
 * @param stored the ids in the record
 */
export function isReplay(
  jobs: readonly { readonly id?: string }[],
  ids: readonly string[],
  stored: readonly string[],
): boolean {
  return !jobs.some(({ id }, i) => id === undefined && stored[i] === ids[i]);
}

/** The error for a key that was used with another request. */
export function keyReused(): QueueError {
  return new QueueError('idempotency_key_reused', 'the idempotency key was used for another request', {
    detail: 'the idempotency key was used for another request: use a new key for each request',
  });
}

function checkKey(key: string): void {
  if (!isIdempotencyKey(key))
    throw new QueueError('invalid_argument', 'idempotencyKey has 1 to 255 visible ASCII characters');
}

/** Hash of what must be the same when a key is used again. */
function fingerprintOf(facts: string, jobs: readonly { readonly body: Buffer }[]): Buffer {
  return hashOf(
    Buffer.concat([
      Buffer.from(`${facts}\n`),
      // guard: idempotency-fingerprint-has-body
      ...jobs.map(({ body }) => body),
    ]),
  );
}

/** In one call and by way of a text: an eighth of the time of a `Hash` object. */
function hashOf(data: string | Buffer): Buffer {
  return Buffer.from(hash('sha256', data, 'binary').slice(0, DIGEST_BYTES), 'binary');
}

/**
 * Finds the record that a call stored under its key.
 *
 * @returns the record (`decodeIdempotencyRecord`, `decodeIds`); null if there is none
 * @throws {QueueError} `idempotency_key_reused`: it belongs to another request; or an error of the store
 */
export async function findIdempotencyRecord(
  runner: ScriptRunner,
  namespace: string,
  { digest, fingerprint }: IdempotencyRecord,
): Promise<Buffer | null> {
  checkNames(namespace);
  const reply = await runner.run(readIdempotencyRecord, namespace, { digest, fingerprint });
  if (reply.found === RECORD_OF_ANOTHER_REQUEST)
    // guard: old-pool-refuses-another-request
    throw keyReused();
  return reply.found === NO_RECORD ? null : reply.readIdempotencyRecord;
}

/** Size of a call with a key in the argument of the publish script, in bytes. */
const KEYED_BYTES = 43;
const TTL_BYTES = 6;

/** A call with an idempotency key, in a batch. */
export interface KeyedCall {
  readonly record: IdempotencyRecord;
  /** How long the record is kept, in milliseconds. */
  readonly ttlMs: number;
}

/** Encodes the calls of a batch that have a key as lua/modules/jobs/idempotency.lua reads them. */
export function encodeKeyedCalls(calls: readonly BatchCall<unknown, KeyedCall>[]): Buffer {
  const bytes = Buffer.allocUnsafe(calls.length * KEYED_BYTES);
  let [at, first] = [0, 1];
  for (const { items, detail } of calls) {
    if (detail) at = writeKeyedCall(bytes, at, detail, first, items.length);
    first += items.length;
  }
  return bytes.subarray(0, at);
}

/** @returns where the next one begins */
function writeKeyedCall(
  bytes: Buffer,
  from: number,
  { record, ttlMs }: KeyedCall,
  first: number,
  size: number,
): number {
  const { digest, fingerprint, isNative } = record;
  let at = bytes.writeUInt16BE(first, from);
  at = bytes.writeUInt16BE(size, at);
  at += digest.copy(bytes, at);
  at += fingerprint.copy(bytes, at);
  at = bytes.writeUIntBE(ttlMs, at, TTL_BYTES);
  return bytes.writeUInt8(isNative ? 1 : 0, at);
}
