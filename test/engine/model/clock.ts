import { end, forgetKept, forgettable, goOn, isNeeded, revoke } from './ends.js';
import { isKept, isLive, type ModelJob } from './job.js';
import { callHeld } from './limits.js';
import { expireLease } from './lease-operations.js';
import type { Space } from './space.js';
import { resolveDependents } from './waiting.js';

/** When something happens next by itself, Unix ms; Infinity = never. */
export function nextMs(space: Space): number {
  return Math.min(...[...space.jobs.values()].flatMap((job) => timesOf(space, job)));
}

function timesOf(space: Space, job: ModelJob): number[] {
  const times = isKept(job) && !isNeeded(space, job) ? [job.keptUntilMs] : [];
  if (job.state === 'scheduled' || job.state === 'leased') times.push(job.atMs);
  if (job.state === 'leased' && job.revokedAtMs > 0) times.push(job.revokedAtMs);
  if (isLive(job) && job.expiresMs > 0) times.push(job.expiresMs);
  return times;
}

/** The clock has something to see to now, as far as what callers did goes. */
export function isRinging(space: Space): boolean {
  return space.news.size > 0 || space.isAltered || forgettable(space).length > 0;
}

/** All that is due now happens, at once. */
export function tick(space: Space): void {
  space.inOneInstant(() => {
    for (const job of [...space.jobs.values()]) if (space.jobs.has(job.id)) ripen(space, job);
    resolveDependents(space);
    forgetKept(space);
    callHeld(space);
    space.isAltered = false;
  });
}

function ripen(space: Space, job: ModelJob): void {
  const { nowMs } = space;
  if (isLive(job) && job.expiresMs > 0 && job.expiresMs <= nowMs) end(space, job, 'expired');
  else if (job.state === 'leased' && job.revokedAtMs > 0 && job.revokedAtMs <= nowMs) revoke(space, job);
  else if (job.state === 'leased' && job.atMs <= nowMs) expireLease(space, job);
  else if (job.state === 'scheduled' && job.atMs <= nowMs)
    goOn(space, job, 0, job.isSentToFront ? space.expiredPlace() : undefined);
}
