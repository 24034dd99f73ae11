import type { RetryPolicy } from '../../../src/domain/rich-job.js';
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

/** What an owner may say of his job. */
export type Word =
  | { readonly verb: 'ack'; readonly keepMs?: number }
  | { readonly verb: 'move'; readonly next: Next }
  | { readonly verb: 'release'; readonly delayMs: number }
  | { readonly verb: 'retry'; readonly group: string; readonly delayMs?: number }
  | { readonly verb: 'fail'; readonly group: string }
  | { readonly verb: 'beat'; readonly ttrMs: number };

/** What is answered to it. */
export type Answer = 'done' | 'not_found' | 'lease_lost' | 'dependency_cycle';

/** Somebody says something of a job under a lease; only its present owner changes anything. */
export function say(space: Space, id: string, lease: number, word: Word): Answer {
  const job = space.jobs.get(id);
  if (!job) return 'not_found';
  if (job.lease !== lease) return 'lease_lost';
  if (job.state === 'dead' || job.state === 'blocked' || isKept(job)) return 'not_found';
  const isLate = word.verb === 'beat' && job.state === 'ready' && job.attempts > 0 && mayGoOn(space, job);
  if (job.state !== 'leased' && !isLate) return 'lease_lost';
  if (word.verb === 'move' && isCircle(space, job, word.next.dependsOn)) return 'dependency_cycle';
  obey(space, job, word);
  return 'done';
}

function obey(space: Space, job: ModelJob, word: Word): void {
  switch (word.verb) {
    case 'ack':
      job.keepMs = word.keepMs ?? job.keepMs;
      end(space, job, 'acked');
      break;
    case 'move':
      move(space, job, word.next);
      break;
    case 'release':
      Object.assign(job, { triesLeft: job.triesLeft + 1, attempts: job.attempts - 1, lease: job.lease + 1 });
      goOn(space, job, after(space, word.delayMs), true);
      break;
    case 'beat':
      hold(space, job, word.ttrMs);
      break;
    case 'fail':
      blame(job, word.group);
      die(space, job, word.group);
      break;
    case 'retry':
      retry(space, job, word.group, word.delayMs);
  }
}

function after(space: Space, delayMs: number): number {
  return delayMs > 0 ? space.nowMs + delayMs : 0;
}

/** The same job goes on in another queue, with all of its tries. */
function move(space: Space, job: ModelJob, { queue, delayMs, dependsOn }: Next): void {
  Object.assign(job, {
    isRich: true,
    queue,
    triesLeft: job.tries,
    attempts: 0,
    lease: job.lease + 1,
    group: null,
  });
  placeWaiter(space, job, waitFor(space, job, dependsOn), after(space, delayMs));
}

function blame(job: ModelJob, group: string): void {
  Object.assign(job, { isRich: true, lease: job.lease + 1, failures: job.failures + 1, group });
}

/** The try is spent. By the job's policy it is tried again, or dies. */
function retry(space: Space, job: ModelJob, group: string, delayMs?: number): void {
  blame(job, group);
  const waitsMs = delayMs ?? delayOf(job.retry, job.failures, group);
  if (job.triesLeft === 0 || waitsMs === null) die(space, job, group);
  else goOn(space, job, after(space, waitsMs));
}

/** How long a job waits after its n-th failure, ms; null = it does not try again. */
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

/** A lease ran out: the job goes back to its line, or dies when it has no try left. Whose owner was told to stop, is cancelled. */
export function lapse(space: Space, job: ModelJob): void {
  if (job.isRich) job.crashes++;
  if (job.triesLeft > 0 || job.revokedAtMs > 0) goOn(space, job);
  else die(space, job, job.isRich ? 'lease_expired' : null);
}

/** lmstfy's acknowledgement: whatever the job's state, and whoever says so. */
export function acknowledge(space: Space, queue: string, id: string): boolean {
  const job = space.jobs.get(id);
  if (!job || isKept(job) || job.queue !== queue) return false;
  end(space, job, 'acked');
  return true;
}
