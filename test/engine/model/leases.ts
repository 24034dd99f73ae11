import { headsOf } from './ready-list.js';
import { hasSlot, holdAgain, mayStart } from './limits.js';
import { type ModelJob, runEndMs } from './job.js';
import type { Space } from './space.js';

export interface LeaseRequest {
  readonly queues: readonly string[];
  readonly count: number;
  readonly ttrMs: number;
  readonly types?: readonly (string | null)[];
  /** Its answer may not have left: the server does not live to see it. */
  readonly isUndelivered?: boolean;
}

/** A server keeps no record of shorter leases, in ms. */
const SHORTEST_RECORDED_MS = 1_000;

/**
 * Records that a worker got jobs, in this order.
 *
 * @throws {Error} it should not have got one of them, or should have got more
 */
export function lease(space: Space, request: LeaseRequest, given: readonly string[]): void {
  const { queues, count, ttrMs, types, isUndelivered = false } = request;
  const left = [...given];
  for (const queue of queues) {
    let parked: ModelJob | undefined;
    while (given.length - left.length < count && mayStart(space, queue)) {
      const heads = headsOf(space, queue, types);
      if (heads.length === 0) break;
      const stuck = heads.filter((job) => !hasSlot(space, job));
      const held =
        stuck.find(({ id }) => space.stateOf(id) === 'held') ?? (left.length === 0 ? stuck[0] : undefined);
      if (held) {
        park(space, held, parked);
        parked = held;
        continue;
      }
      const next = heads.find(({ id }) => id === left[0]);
      if (!next)
        throw new Error(`${left[0] ?? 'no job'} was given, where it was the turn of ${names(heads)}`);
      if (!hasSlot(space, next)) throw new Error(`${next.id} was given, for whose key there was no slot`);
      left.shift();
      take(space, next, ttrMs);
      if (isUndelivered && ttrMs >= SHORTEST_RECORDED_MS) next.undelivered = next.lease;
    }
  }
  if (left.length > 0) throw new Error(`${left.join()} should not have been given`);
}

function names(jobs: readonly ModelJob[]): string {
  return jobs.map(({ id }) => id).join(' or ');
}

/** Holds a job because of its key's limit. A job that was called before keeps its place among the held jobs of the key. */
function park(space: Space, job: ModelJob, before: ModelJob | undefined): void {
  const isEqual = before?.place === job.place && before.priority === job.priority;
  holdAgain(space, job, isEqual ? before.heldPlace : undefined);
}

function take(space: Space, job: ModelJob, ttrMs: number): void {
  job.triesLeft--;
  job.attempts++;
  job.lease++;
  job.wasFree = false;
  limitRun(space, job);
  hold(space, job, ttrMs);
}

/** Its own limit counts, or else what its queue says now: for that an extended job is needed. */
function limitRun(space: Space, job: ModelJob): void {
  const { maxRunMs: queueMs } = space.queue(job.queue).defaults;
  const isOfQueue = job.maxRunMs === Infinity && queueMs !== undefined;
  if (isOfQueue) job.isExtended = true;
  Object.assign(job, {
    runMs: isOfQueue ? queueMs : job.maxRunMs,
    leasedMs: space.nowMs,
    hasBegun: false,
  });
}

/** A lease lasts no longer than its job, and no longer than the job may run. */
export function hold(space: Space, job: ModelJob, ttrMs: number): void {
  const endsMs = Math.min(space.nowMs + ttrMs, runEndMs(job));
  job.state = 'leased';
  job.isCalled = false;
  job.isSentToFront = false;
  job.heldPlace = 0;
  job.atMs = job.expiresMs > 0 ? Math.min(endsMs, job.expiresMs) : endsMs;
}
