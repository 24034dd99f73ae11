import { ArgumentError } from '../../contract/fields/problems.js';
import type { Ack, NewJob, LeaseRequest } from '../../domain/job/job.js';
import { MAX_ACKS, MAX_BULK_JOBS, MAX_LEASE_COUNT, MAX_LEASE_TYPES, MAX_TRIES } from '../../domain/limits.js';
import { hasLegalCharacters } from '../../domain/ids.js';

/** Longest duration that the engine accepts, in milliseconds: an expiry has 48 bits. */
const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;
/** A lease number has 32 bits. */
const MAX_LEASE = 4_294_967_295;

/** @throws {QueueError} `invalid_argument`: a name whose characters would produce another key, or two */
export function checkNames(namespace: string, ...queues: readonly string[]): void {
  if (!hasLegalCharacters(namespace))
    throw new ArgumentError('namespace', 'has letters, digits, - and _ only');
  for (const queue of queues)
    if (!hasLegalCharacters(queue)) throw new ArgumentError('queue', 'has letters, digits, - and _ only');
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkJobs(jobs: readonly NewJob[]): void {
  // One script stores them atomically: too many would exceed its limits and stop it half-way.
  if (jobs.length > MAX_BULK_JOBS)
    throw new ArgumentError('jobs', `are at most ${String(MAX_BULK_JOBS)} in one call`);
  for (const { id, delayMs, dueMs, ttlMs, tries, whole } of jobs) {
    // Only the script finds out that an id is in use, item by item: it must not store a part of a call.
    if (id !== undefined && jobs.length > 1 && whole === undefined)
      throw new ArgumentError('id', 'may be given to a job that is published by itself');
    checkNumber('delayMs', delayMs, 0, MAX_TIME_MS);
    if (dueMs !== undefined) checkNumber('dueMs', dueMs, 0, MAX_TIME_MS);
    checkNumber('ttlMs', ttlMs, 0, MAX_TIME_MS);
    checkNumber('tries', tries, 1, MAX_TRIES);
  }
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkAcks(namespace: string, acks: readonly Ack[]): void {
  if (acks.length > MAX_ACKS) throw new ArgumentError('acks', `are at most ${String(MAX_ACKS)} in one call`);
  let last: string | undefined;
  for (const { queue, lease } of acks) {
    // Most are of one queue: check its name once.
    if (queue !== undefined && queue !== last) checkNames(namespace, queue);
    last = queue;
    if (lease !== undefined) checkNumber('lease', lease, 0, MAX_LEASE);
  }
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkRequest({ count, ttrMs, waitMs, linger, queues, types }: LeaseRequest): void {
  if (queues.length === 0) throw new ArgumentError('queues', 'names one queue at least');
  if (types !== undefined) checkTypes(types);
  checkNumber('count', count, 1, MAX_LEASE_COUNT);
  if (ttrMs !== undefined) checkNumber('ttrMs', ttrMs, 0, MAX_TIME_MS);
  checkNumber('waitMs', waitMs, 0, MAX_TIME_MS);
  if (linger === undefined) return;
  checkNumber('linger.ms', linger.ms, 0, MAX_TIME_MS);
  checkNumber('linger.min', linger.min, 1, count);
}

/** @throws {QueueError} `invalid_argument`: a type that no job can have, or too many of them */
function checkTypes(types: readonly (string | null)[]): void {
  if (types.length === 0 || types.length > MAX_LEASE_TYPES)
    throw new ArgumentError('types', `names 1 to ${String(MAX_LEASE_TYPES)} types`);
  // One search for all.
  if (types.includes('') || /\p{Cc}/u.test(types.join('')))
    throw new ArgumentError('types', 'are texts without control characters, or null');
}

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkNumber(field: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new ArgumentError(field, `is a whole number from ${String(min)} to ${String(max)}`);
}
