import type { RetryPolicy } from '../../../src/domain/job/extended-job.js';
import { createHash } from 'node:crypto';
import { encodeId } from '../../../src/engine/core/ids.js';
import { die, end, goOn } from './ends.js';
import { enrich, isKept, type ModelJob, runEndMs } from './job.js';
import { hold } from './leases.js';
import { mayGoOn } from './limits.js';
import type { Space } from './space.js';
import { isCircle, placeWaiter, waitFor } from './waiting.js';

export interface Next {
  readonly queue: string;
  readonly delayMs: number;
  readonly dependsOn: readonly string[];
}

/** The operations of a lease holder. */
export type LeaseOperation =
  | { readonly verb: 'ack'; readonly keepMs?: number; readonly text?: string }
  | { readonly verb: 'move'; readonly next: Next; readonly text?: string }
  | { readonly verb: 'release'; readonly delayMs: number }
  | { readonly verb: 'retry'; readonly group: string; readonly delayMs?: number; readonly text?: string }
  | { readonly verb: 'fail'; readonly group: string; readonly text?: string }
  | {
      readonly verb: 'heartbeat';
      readonly ttrMs: number;
      readonly text?: string;
      readonly begin?: true;
      readonly maxRunMs?: number;
    };

/** The result of a lease operation. */
export type Answer = 'done' | 'not_found' | 'lease_lost' | 'dependency_cycle';

/** Takes the lease of a job from its holder, as if it had released it. @returns an error code, null = done */
export function revokeLease(space: Space, id: string): string | null {
  const job = space.jobs.get(id);
  if (!job) return 'job_not_found';
  if (job.state !== 'leased') return 'not_leased';
  // Its timeline tells of the revoke.
  enrich(job);
  obey(space, job, { verb: 'release', delayMs: 0 });
  return null;
}

/** Applies a lease operation; only the current lease changes anything. */
export function settle(space: Space, id: string, lease: number, operation: LeaseOperation): Answer {
  const job = space.jobs.get(id);
  if (!job) return 'not_found';
  if (job.lease !== lease) return 'lease_lost';
  if (job.state === 'blocked' || isKept(job)) return 'not_found';
  if (runEndMs(job) <= space.nowMs) return 'lease_lost';
  // It died when this lease expired: the work may be done all the same.
  if (job.state === 'dead' && (operation.verb !== 'ack' || job.attempts === 0)) return 'lease_lost';
  // The last lease is accepted until the next one. A late heartbeat needs a free slot, because the job runs again.
  const isLate = job.state !== 'leased';
  if (isLate && (job.attempts === 0 || (operation.verb === 'heartbeat' && !mayGoOn(space, job))))
    return 'lease_lost';
  if (operation.verb === 'move' && isCircle(space, job, operation.next.dependsOn)) return 'dependency_cycle';
  if (job.state === 'scheduled') job.dueMs = 0;
  if (job.wasFree) countTry(job);
  obey(space, job, operation);
  return 'done';
}

/** Counts the try of a lease that expired without it: a late call shows that its response had arrived. */
function countTry(job: ModelJob): void {
  job.triesLeft = Math.max(job.triesLeft - 1, 0);
  job.freeRetries = Math.max(job.freeRetries - 1, 0);
  job.wasFree = false;
}

function obey(space: Space, job: ModelJob, operation: LeaseOperation): void {
  // A simple job has no failure of its own: it shows why it died only while it is dead.
  if (job.state === 'dead' && !job.isExtended) job.group = null;
  if ('text' in operation) storeData(job, operation.text);
  if (operation.verb !== 'heartbeat') job.leasedMs = Infinity;
  switch (operation.verb) {
    case 'ack':
      job.keepMs = operation.keepMs ?? job.keepMs;
      end(space, job, 'acked');
      break;
    case 'move':
      move(space, job, operation.next);
      break;
    case 'release':
      Object.assign(job, { triesLeft: job.triesLeft + 1, attempts: job.attempts - 1, lease: job.lease + 1 });
      goOn(space, job, after(space, operation.delayMs), space.frontPlace());
      break;
    case 'heartbeat':
      if (operation.begin) begin(space, job, operation.maxRunMs);
      hold(space, job, operation.ttrMs);
      break;
    case 'fail':
      recordFailure(job, operation.group);
      die(space, job, operation.group);
      break;
    case 'retry':
      retry(space, job, operation.group, operation.delayMs);
  }
}

/** The run begins anew, once in a lease, under the shorter limit. */
function begin(space: Space, job: ModelJob, maxRunMs = Infinity): void {
  if (maxRunMs < Infinity) job.isExtended = true;
  const runMs = Math.min(job.runMs, maxRunMs);
  if (job.hasBegun || runMs === Infinity) return;
  Object.assign(job, { runMs, leasedMs: space.nowMs, hasBegun: true });
}

/** The holder's data replace those of the job; its lease stays as it is. */
function storeData(job: ModelJob, text: string): void {
  Object.assign(job, { body: text, isExtended: true });
}

function after(space: Space, delayMs: number): number {
  return delayMs > 0 ? space.nowMs + delayMs : 0;
}

/** Moves the job to another queue, with all of its tries. */
function move(space: Space, job: ModelJob, { queue, delayMs, dependsOn }: Next): void {
  if (queue !== job.queue) job.isIndexed = space.queue(queue).indexesTags;
  Object.assign(job, {
    isExtended: true,
    queue,
    triesLeft: job.tries,
    attempts: 0,
    lease: job.lease + 1,
    group: null,
  });
  job.reads.clear();
  placeWaiter(space, job, waitFor(space, job, dependsOn), after(space, delayMs));
}

function recordFailure(job: ModelJob, group: string): void {
  Object.assign(job, { isExtended: true, lease: job.lease + 1, failures: job.failures + 1, group });
}

/** Uses a try. By its retry policy the job is tried again, or dies. */
function retry(space: Space, job: ModelJob, group: string, delayMs?: number): void {
  recordFailure(job, group);
  const waitsMs = delayMs ?? delayOf(space, job, group);
  if (job.revokedAtMs === 0 && (job.triesLeft === 0 || waitsMs === null)) die(space, job, group);
  else goOn(space, job, after(space, waitsMs ?? 0));
}

/** The policies of jobs that have none, by the API that published them. */
const NATIVE_POLICY: RetryPolicy = {
  kind: 'exponential',
  delayMs: 1_000,
  factor: 2,
  maxMs: 600_000,
  jitter: 0.2,
};
const LMSTFY_POLICY: RetryPolicy = { kind: 'fixed', delayMs: 0 };

/** Delay before the next attempt, in ms; null = no further try. Failures and crashes count. */
function delayOf(space: Space, job: ModelJob, group: string): number | null {
  const policy = job.retry ?? (job.isNative ? NATIVE_POLICY : LMSTFY_POLICY);
  const n = job.failures + job.crashes;
  if (policy.nonRetryable?.includes(group)) return null;
  switch (policy.kind) {
    case 'none':
      return null;
    case 'fixed':
      return policy.delayMs;
    case 'linear':
      return Math.min(policy.delayMs * n, policy.maxMs ?? Infinity);
    case 'exponential':
      return Math.floor(
        Math.min(policy.delayMs * (policy.factor ?? 2) ** (n - 1), policy.maxMs ?? Infinity) *
          (1 - (policy.jitter ?? 0) * chanceOf(space, job)),
      );
    case 'list':
      return policy.delaysMs[Math.min(n, policy.delaysMs.length) - 1] ?? 0;
  }
}

/** The script's random number, from 0 to 1. */
function chanceOf(space: Space, { id, lease }: ModelJob): number {
  const bytes = encodeId(id) ?? Buffer.alloc(0);
  const digest = createHash('sha1')
    .update(bytes)
    .update(`${String(lease)}${String(space.nowMs)}`)
    .digest();
  return digest.readUInt32BE() / 2 ** 32;
}

/** Uncharged returns that a job may get. */
const MAX_FREE_RETRIES = 3;

/**
 * Expires a lease: the job goes back to its ready list, at once or after a delay, or dies if it has no try left or its
 * policy allows none. If a cancel was requested, it is cancelled.
 */
export function expireLease(space: Space, job: ModelJob): void {
  const { leaseGraceMs, putsExpiredFirst, maxRunning } = space.queue(job.queue);
  const hasPolicy = job.isNative || job.retry !== undefined;
  const isFree = job.undelivered === job.lease && job.freeRetries < MAX_FREE_RETRIES;
  const isCharged = hasPolicy && !isFree;
  const isOverrun = runEndMs(job) <= space.nowMs;
  const group = isOverrun ? 'max_run_exceeded' : 'lease_expired';
  if (isOverrun) job.lease++;
  job.isExtended ||= isCharged || leaseGraceMs > 0 || putsExpiredFirst || maxRunning < Infinity;
  if (isFree) {
    job.triesLeft++;
    job.freeRetries++;
    job.wasFree = true;
    goOn(space, job, 0, putsExpiredFirst ? space.expiredPlace() : undefined);
    return;
  }
  if (job.isExtended) job.crashes++;
  const isCancelled = job.revokedAtMs > 0;
  if (job.triesLeft > 0 && (hasPolicy || isOverrun) && !isCancelled) job.group = group;
  const delayMs = isCancelled || !hasPolicy ? 0 : delayOf(space, job, group);
  if (!isCancelled && (job.triesLeft === 0 || delayMs === null)) {
    die(space, job, group);
    return;
  }
  goOn(
    space,
    job,
    after(space, Math.max(delayMs ?? 0, isCancelled ? 0 : leaseGraceMs)),
    putsExpiredFirst ? space.expiredPlace() : undefined,
  );
  job.isSentToFront = job.state === 'scheduled' && putsExpiredFirst;
}

/** lmstfy's ack: accepted in any state, without a lease number. */
export function acknowledge(space: Space, queue: string, id: string): boolean {
  const job = space.jobs.get(id);
  if (!job || isKept(job) || job.queue !== queue) return false;
  if (job.wasFree) countTry(job);
  end(space, job, 'acked');
  return true;
}
