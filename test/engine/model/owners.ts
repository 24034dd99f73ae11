import type { RetryPolicy } from '../../../src/domain/extended-job.js';
import { die, end, goOn } from './ends.js';
import { isKept, type ModelJob } from './job.js';
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
  | { readonly verb: 'ack'; readonly keepMs?: number }
  | { readonly verb: 'move'; readonly next: Next }
  | { readonly verb: 'release'; readonly delayMs: number }
  | { readonly verb: 'retry'; readonly group: string; readonly delayMs?: number }
  | { readonly verb: 'fail'; readonly group: string }
  | { readonly verb: 'heartbeat'; readonly ttrMs: number };

/** The result of a lease operation. */
export type Answer = 'done' | 'not_found' | 'lease_lost' | 'dependency_cycle';

/** Applies a lease operation; only the current lease changes anything. */
export function settle(space: Space, id: string, lease: number, operation: LeaseOperation): Answer {
  const job = space.jobs.get(id);
  if (!job) return 'not_found';
  if (job.lease !== lease) return 'lease_lost';
  if (job.state === 'dead' || job.state === 'blocked' || isKept(job)) return 'not_found';
  // The last lease is accepted until the next one. A late heartbeat needs a free slot, because the job runs again.
  const isLate = job.state !== 'leased';
  if (isLate && (job.attempts === 0 || (operation.verb === 'heartbeat' && !mayGoOn(space, job))))
    return 'lease_lost';
  if (operation.verb === 'move' && isCircle(space, job, operation.next.dependsOn)) return 'dependency_cycle';
  if (job.state === 'scheduled') job.dueMs = 0;
  obey(space, job, operation);
  return 'done';
}

function obey(space: Space, job: ModelJob, operation: LeaseOperation): void {
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
      goOn(space, job, after(space, operation.delayMs), true);
      break;
    case 'heartbeat':
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

function after(space: Space, delayMs: number): number {
  return delayMs > 0 ? space.nowMs + delayMs : 0;
}

/** Moves the job to another queue, with all of its tries. */
function move(space: Space, job: ModelJob, { queue, delayMs, dependsOn }: Next): void {
  Object.assign(job, {
    isExtended: true,
    queue,
    triesLeft: job.tries,
    attempts: 0,
    lease: job.lease + 1,
    group: null,
  });
  placeWaiter(space, job, waitFor(space, job, dependsOn), after(space, delayMs));
}

function recordFailure(job: ModelJob, group: string): void {
  Object.assign(job, { isExtended: true, lease: job.lease + 1, failures: job.failures + 1, group });
}

/** Uses a try. By its retry policy the job is tried again, or dies. */
function retry(space: Space, job: ModelJob, group: string, delayMs?: number): void {
  recordFailure(job, group);
  const waitsMs = delayMs ?? delayOf(job.retry, job.failures, group);
  if (job.triesLeft === 0 || waitsMs === null) die(space, job, group);
  else goOn(space, job, after(space, waitsMs));
}

/** Delay after the n-th failure, in ms; null = no further try. */
function delayOf(policy: RetryPolicy | undefined, n: number, group: string): number | null {
  if (policy === undefined) return 0;
  if (policy.nonRetryable?.includes(group)) return null;
  switch (policy.kind) {
    case 'none':
      return null;
    case 'fixed':
      return policy.delayMs;
    case 'linear':
      return Math.min(policy.delayMs * n, policy.maxMs ?? Infinity);
    case 'exponential':
      return Math.min(policy.delayMs * (policy.factor ?? 2) ** (n - 1), policy.maxMs ?? Infinity);
    case 'list':
      return policy.delaysMs[Math.min(n, policy.delaysMs.length) - 1] ?? 0;
  }
}

/**
 * Expires a lease: the job goes back to its ready list, or dies if it has no try left. If a cancel was requested, it is
 * cancelled.
 */
export function expireLease(space: Space, job: ModelJob): void {
  if (job.isExtended) job.crashes++;
  if (job.triesLeft > 0 || job.revokedAtMs > 0) goOn(space, job);
  else die(space, job, job.isExtended ? 'lease_expired' : null);
}

/** lmstfy's ack: accepted in any state, without a lease number. */
export function acknowledge(space: Space, queue: string, id: string): boolean {
  const job = space.jobs.get(id);
  if (!job || isKept(job) || job.queue !== queue) return false;
  end(space, job, 'acked');
  return true;
}
