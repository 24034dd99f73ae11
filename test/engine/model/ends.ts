import { hasSmallerId, isKept, type ModelJob } from './job.js';
import { makeReady } from './limits.js';
import type { Space } from './space.js';

/** How long a revoked job is kept, so that its lease holder learns of the cancel, in ms. */
const REVOKED_KEEP_MS = 60_000;

/** A job goes back to its ready list, or waits until it is due. A job with a requested cancel is cancelled instead. front: a place before the others. */
export function goOn(space: Space, job: ModelJob, dueMs = 0, front?: number): void {
  job.isCalled = false;
  job.isSentToFront = false;
  if (job.revokedAtMs > 0) {
    revoke(space, job);
  } else if (dueMs > space.nowMs) {
    job.state = 'scheduled';
    job.atMs = dueMs;
  } else {
    makeReady(space, job, front ?? space.backPlace());
  }
}

/** Cancels a leased job: its lease is lost. */
export function revoke(space: Space, job: ModelJob): void {
  job.lease++;
  job.isExtended = true;
  job.keepMs = Math.max(job.keepMs, REVOKED_KEEP_MS);
  end(space, job, 'cancelled');
}

/** Ends a job. It is kept for a while if it is done or cancelled and has a retention, else it is gone. */
export function end(
  space: Space,
  job: ModelJob,
  outcome: 'acked' | 'cancelled' | 'expired' | 'deleted' | 'replaced',
): void {
  freeAll(space, job, outcome === 'cancelled' && job.cascades ? 'cascaded' : outcome);
  const isKeepable = outcome === 'acked' || outcome === 'cancelled';
  if (!isKeepable || (job.keepMs === 0 && (outcome !== 'acked' || !isNeeded(space, job)))) {
    space.jobs.delete(job.id);
    return;
  }
  job.state = outcome === 'acked' ? 'done' : 'cancelled';
  job.isExtended = true;
  job.atMs = space.nowMs;
  job.keptUntilMs = space.nowMs + job.keepMs;
}

/** True if a job that has not ended, or is dead, was to run after it: then its result is kept. A cancelled job has none. */
export function isNeeded(space: Space, { id, born, state }: ModelJob): boolean {
  if (state === 'cancelled') return false;
  return [...space.jobs.values()].some((job) => !isKept(job) && job.reads.get(id) === born);
}

/** Moves a job to the dead-letter queue, where nothing expires. */
export function die(space: Space, job: ModelJob, group: string | null): void {
  freeAll(space, job, 'died');
  job.state = 'dead';
  job.freeRetries = 0;
  job.atMs = space.nowMs;
  job.group = group;
}

/** Frees everything that the job held, and records its end for its dependents. */
function freeAll(space: Space, job: ModelJob, outcome: string): void {
  const holding = job.unique && space.keys.get(job.unique.key);
  if (job.unique && holding?.id === job.id && holding.endsMs === 0) space.keys.delete(job.unique.key);
  space.news.set(job.id, { outcome, born: job.born });
  job.needs.clear();
  job.failed.clear();
  Object.assign(job, { isCalled: false, heldPlace: 0, revokedAtMs: 0, cascades: false, expiresMs: 0 });
}

/** Ended jobs whose retention is over, and the oldest ones of a queue with more than it may keep; but none that is needed. */
export function forgettable(space: Space): ModelJob[] {
  const kept = [...space.jobs.values()].filter(isKept);
  const over = kept.filter((job) => job.keptUntilMs <= space.nowMs && !isNeeded(space, job));
  const left = kept.filter((job) => !over.includes(job)).sort(byEnd);
  const tooMany = [...new Set(kept.map((job) => job.queue))].flatMap((queue) => {
    const its = left.filter((job) => job.queue === queue);
    return its.slice(0, Math.max(its.length - space.queue(queue).maxKept, 0));
  });
  return [...over, ...tooMany.filter((job) => !isNeeded(space, job))];
}

export function forgetKept(space: Space): void {
  for (const { id } of forgettable(space)) space.jobs.delete(id);
}

/** Jobs that ended in one millisecond: done ones first; by id, cancelled ones in the opposite order. */
export function byEnd(one: ModelJob, other: ModelJob): number {
  if (one.atMs !== other.atMs) return one.atMs - other.atMs;
  if (one.state !== other.state) return one.state === 'done' ? -1 : 1;
  return hasSmallerId(one, other) === (one.state !== 'cancelled') ? -1 : 1;
}
