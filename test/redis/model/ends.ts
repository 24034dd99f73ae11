import { joinLine } from './line.js';
import { isKept, type ModelJob } from './job.js';
import type { Space } from './space.js';

/** A job that was taken from its owner is kept for so long, so that he hears of it, ms. */
const REVOKED_KEEP_MS = 60_000;

/** A job goes on: to its line, or until it is due. One that is to be cancelled never waits again. */
export function goOn(space: Space, job: ModelJob, dueMs = 0, isToFront = false): void {
  job.isCalled = false;
  if (job.revokedAtMs > 0) {
    revoke(space, job);
  } else if (dueMs > space.nowMs) {
    job.state = 'scheduled';
    job.atMs = dueMs;
  } else {
    joinLine(space, job, isToFront ? space.frontPlace() : space.backPlace());
  }
}

/** Takes a job from its owner for good. */
export function revoke(space: Space, job: ModelJob): void {
  job.lease++;
  job.isRich = true;
  job.keepMs = Math.max(job.keepMs, REVOKED_KEEP_MS);
  end(space, job, 'cancelled');
}

/** A job ends: it is kept for a while if it is done or cancelled and was to be kept, else it is gone. */
export function end(
  space: Space,
  job: ModelJob,
  outcome: 'acked' | 'cancelled' | 'expired' | 'deleted' | 'replaced',
): void {
  letGo(space, job, outcome === 'cancelled' && job.cascades ? 'cascaded' : outcome);
  const isKeepable = outcome === 'acked' || outcome === 'cancelled';
  if (!isKeepable || job.keepMs === 0) {
    space.jobs.delete(job.id);
    return;
  }
  job.state = outcome === 'acked' ? 'done' : 'cancelled';
  job.isRich = true;
  job.atMs = space.nowMs;
  job.keptUntilMs = space.nowMs + job.keepMs;
}

/** A job dies: to the dead letter, where nothing expires. */
export function die(space: Space, job: ModelJob, group: string | null): void {
  letGo(space, job, 'died');
  job.state = 'dead';
  job.atMs = space.nowMs;
  job.group = group;
}

/** All that it held is free, and those that wait for it are to hear of its end. */
function letGo(space: Space, job: ModelJob, outcome: string): void {
  const holding = job.unique && space.keys.get(job.unique.key);
  if (job.unique && holding?.id === job.id && holding.endsMs === 0) space.keys.delete(job.unique.key);
  space.news.set(job.id, outcome);
  job.needs.clear();
  job.failed.clear();
  Object.assign(job, { isCalled: false, heldPlace: 0, revokedAtMs: 0, cascades: false, expiresMs: 0 });
}

/** Ended jobs go when their time is over, and the oldest ones of a queue that may keep no more. */
export function forgetKept(space: Space): void {
  const kept = [...space.jobs.values()].filter(isKept);
  for (const job of kept) if (job.keptUntilMs <= space.nowMs) space.jobs.delete(job.id);
  for (const queue of new Set(kept.map((job) => job.queue))) {
    const left = kept.filter((job) => job.queue === queue && space.jobs.has(job.id)).sort(byEnd);
    const most = space.queue(queue).maxKept;
    for (const { id } of left.slice(0, Math.max(left.length - most, 0))) space.jobs.delete(id);
  }
}

export function byEnd(one: ModelJob, other: ModelJob): number {
  return one.atMs - other.atMs || (one.id < other.id ? -1 : 1);
}
