import type { JobChange } from '../../../src/engine/jobs/job-updater.js';
import { changeRank } from './ready-list.js';
import { enrich, replaceBody, type ModelJob } from './job.js';
import { letIn } from './publishing.js';
import type { Space } from './space.js';
import { failDependent, isCircle, isWaiting, placeWaiter, waitFor } from './waiting.js';

const CHANGEABLE = ['ready', 'scheduled', 'blocked', 'held'];

/** Changes a waiting job. @returns an error code, null = it was changed */
export function change(space: Space, id: string, wish: JobChange): string | null {
  const job = space.jobs.get(id);
  if (!job) return 'job_not_found';
  if (!CHANGEABLE.includes(job.state)) return 'not_waiting';
  if (wish.tries !== undefined && wish.tries <= usedTries(job)) return 'invalid_argument';
  if (isCircle(space, job, wish.dependsOn ?? wish.moreDependencies ?? [])) return 'dependency_cycle';
  const wanted = wish.dueMs ?? (wish.delayMs === undefined ? undefined : space.nowMs + wish.delayMs);
  if (wanted === undefined && isDueUnknown(job) && (wish.queue !== undefined || wish.ttlMs !== undefined))
    return 'due_unknown';
  const was = { ...job };
  enrich(job);
  describe(space, job, wish);
  const outcome = retie(space, job, wish);
  const dueMs = wanted ?? (was.state === 'scheduled' ? job.atMs : job.dueMs);
  if (outcome !== null) {
    failDependent(space, job, outcome);
  } else if (mustMove(space, job, wish, was, wanted)) {
    const { queue = job.queue } = wish;
    letIn(space, queue);
    if (queue !== job.queue) Object.assign(job, { queue, isIndexed: space.queue(queue).indexesTags });
    job.priority = wish.priority ?? job.priority;
    job.heldPlace = 0;
    placeWaiter(space, job, null, dueMs);
  } else if (isRelisted(space, job, was) || (wish.priority ?? job.priority) !== job.priority) {
    if (job.state === 'ready') changeRank(space, job, wish.priority ?? job.priority);
    else job.priority = wish.priority ?? job.priority;
  }
  return null;
}

/** A ready job goes to the list of its new type. */
function isRelisted(space: Space, job: ModelJob, was: ModelJob): boolean {
  return job.state === 'ready' && space.queue(job.queue).isByType && job.type !== was.type;
}

/** Leases that were charged. */
export function usedTries({ attempts, freeRetries }: ModelJob): number {
  return Math.max(attempts - freeRetries, 0);
}

function describe(space: Space, job: ModelJob, { ttlMs, tags, data, tries, type, retry }: JobChange): void {
  if (ttlMs !== undefined) job.expiresMs = ttlMs > 0 ? space.nowMs + ttlMs : 0;
  if (tries !== undefined) Object.assign(job, { tries, triesLeft: tries - usedTries(job) });
  job.type = type ?? job.type;
  job.retry = retry ?? job.retry;
  if (tags && tags.join() !== job.tags.join()) job.isIndexed = space.queue(job.queue).indexesTags;
  job.tags = tags ?? job.tags;
  if (data) replaceBody(job, data.body.toString());
}

/** True for a job that, when it was simple, expired before it was due: its due time is not stored. */
export function isDueUnknown({ state, isExtended, expiresMs, atMs }: ModelJob): boolean {
  if (state !== 'scheduled' || expiresMs === 0) return false;
  return isExtended ? atMs === expiresMs : expiresMs <= atMs;
}

function retie(
  space: Space,
  job: ModelJob,
  { dependsOn, moreDependencies = [], lessDependencies = [] }: JobChange,
): string | null {
  if (dependsOn !== undefined) {
    job.needs.clear();
    job.failed.clear();
    job.reads.clear();
  }
  for (const id of lessDependencies) {
    job.needs.delete(id);
    job.failed.delete(id);
    job.reads.delete(id);
  }
  return waitFor(space, job, dependsOn ?? moreDependencies);
}

/** True if the change moves the job to another place. */
function mustMove(
  space: Space,
  job: ModelJob,
  wish: JobChange,
  was: ModelJob,
  wanted: number | undefined,
): boolean {
  const isElsewhere = wish.queue !== undefined && wish.queue !== was.queue;
  if (was.state === 'blocked' || isElsewhere) return true;
  // If its due time is not stored, it stays until it is read.
  if (isWaiting(job)) return wanted !== undefined || !isDueUnknown(was);
  if (wanted === undefined) return false;
  return was.state !== 'ready' || wanted > space.nowMs;
}
