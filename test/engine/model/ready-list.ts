import { cameBefore, seenDueMs, type ModelJob } from './job.js';
import type { Space } from './space.js';

/** Puts a job into the ready list of its queue. */
export function addToReadyList(space: Space, job: ModelJob, place: number): void {
  const others = ranked(space, job);
  job.state = 'ready';
  job.isMoved = false;
  job.place = place;
  const { disordered } = space.queue(job.queue);
  const isInOrder = others.every(
    (other) => other.place < place === cameBefore(other, job) && other.place !== place,
  );
  if (others.length === 0) disordered.delete(job.priority);
  if (!isInOrder) disordered.add(job.priority);
}

/** Changes the priority of a ready job: among the jobs of that priority it is ordered by its publish time. */
export function changeRank(space: Space, job: ModelJob, priority: number): void {
  job.priority = priority;
  job.isMoved = true;
  if (ranked(space, job).length === 0) space.queue(job.queue).disordered.delete(priority);
}

/** True if a ready job must be leased before another one. */
function isBefore(space: Space, one: ModelJob, other: ModelJob): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  if (!one.isMoved && !other.isMoved) return one.place < other.place;
  // The publish time decides only while the other jobs are in that order.
  return !space.queue(one.queue).disordered.has(one.priority) && cameBefore(one, other);
}

/** True if a list of their state must show one job before another, the oldest first (docs/api/lists.md). */
export function mustList(space: Space, one: ModelJob, other: ModelJob): boolean {
  switch (one.state) {
    case 'ready':
      // Whose priority was changed and set back to 0 comes behind the others of it, although it is leased in its place.
      if (one.priority === other.priority && one.priority === 0 && (one.isMoved || other.isMoved))
        return false;
      return isBefore(space, one, other);
    case 'scheduled':
    case 'leased':
      if (one.isExtended !== other.isExtended) return one.isExtended;
      return seenDueMs(one) < seenDueMs(other);
    case 'blocked':
      if (one.failed.size > 0 !== other.failed.size > 0) return one.failed.size > 0;
      return one.publishedMs < other.publishedMs;
    case 'held':
      return one.publishedMs < other.publishedMs;
    default:
      return one.atMs < other.atMs;
  }
}

/** The ready jobs of a queue that may be leased next. */
export function headsOf(space: Space, queue: string): ModelJob[] {
  const line = space.in(queue, 'ready');
  return line.filter((job) => !line.some((other) => isBefore(space, other, job)));
}

/** The other ready jobs with the priority of a job. */
function ranked(space: Space, job: ModelJob): ModelJob[] {
  return space.in(job.queue, 'ready').filter((other) => other !== job && other.priority === job.priority);
}
