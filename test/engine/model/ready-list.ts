import { cameBefore, seenDueMs, type ModelJob } from './job.js';
import type { Space } from './space.js';

/** The first lease by type: extended jobs go to the lists of their types. */
export function orderByType(space: Space, queue: string): void {
  const known = space.queue(queue);
  if (known.isByType) return;
  known.isByType = true;
  for (const job of space.in(queue, 'ready')) {
    if (job.isExtended) job.isListedByType = true;
    // It came to its place by its publish time: those of the ready list now come before it.
    if (job.isMoved) known.disordered.add(job.priority);
  }
}

/** Puts a job into the ready list of its queue. */
export function addToReadyList(space: Space, job: ModelJob, place: number): void {
  const others = ranked(space, job);
  job.state = 'ready';
  job.isMoved = false;
  job.isListedByType = job.isExtended && space.queue(job.queue).isByType;
  job.place = place;
  const { disordered } = space.queue(job.queue);
  const isInOrder = others.every(
    (other) => other.place < place === cameBefore(other, job) && other.place !== place,
  );
  if (others.length === 0) disordered.delete(job.priority);
  if (!isInOrder) disordered.add(job.priority);
}

/** Puts a job that was held into the ready list, in the order of the publish. */
export function callToReadyList(space: Space, job: ModelJob): void {
  const others = ranked(space, job);
  const next = Math.min(...others.filter((other) => cameBefore(job, other)).map(({ place }) => place));
  const before = Math.max(next - 1, ...others.map(({ place }) => place).filter((place) => place < next));
  addToReadyList(space, job, next === Infinity ? space.backPlace() : (before + next) / 2);
  job.isMoved = true;
}

/** Changes the priority of a ready job: among the jobs of that priority it is ordered by its publish time. */
export function changeRank(space: Space, job: ModelJob, priority: number): void {
  job.priority = priority;
  job.isMoved = true;
  job.isListedByType = space.queue(job.queue).isByType;
  if (ranked(space, job).length === 0) space.queue(job.queue).disordered.delete(priority);
}

/** True if a ready job must be leased before another one. */
function isBefore(space: Space, one: ModelJob, other: ModelJob): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  if (one.isListedByType !== other.isListedByType) return false;
  if (one.isListedByType && one.type !== other.type && (one.isMoved || other.isMoved)) return false;
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
      if (one.isListedByType !== other.isListedByType || (one.isListedByType && one.type !== other.type))
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

/** The ready jobs of a queue that may be leased next. @param types only of these, null = without one */
export function headsOf(space: Space, queue: string, types?: readonly (string | null)[]): ModelJob[] {
  const line = space.in(queue, 'ready').filter(({ type }) => types?.includes(type) !== false);
  return line.filter((job) => !line.some((other) => isBefore(space, other, job)));
}

/** The other ready jobs with the priority of a job. */
function ranked(space: Space, job: ModelJob): ModelJob[] {
  return space.in(job.queue, 'ready').filter((other) => other !== job && other.priority === job.priority);
}
