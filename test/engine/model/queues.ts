import type { JobState } from '../../../src/domain/job/states.js';
import { end } from './ends.js';
import { isKept } from './job.js';
import type { ModelQueue, Space } from './space.js';

/** Says something of a queue; those that its limits hold up hear of it from the clock. */
export function control(space: Space, queue: string, settings: Partial<ModelQueue>): void {
  Object.assign(space.queue(queue), settings);
  space.isAltered = true;
}

/** Removes the jobs of a queue that are in one of some states. @returns how many of each there were */
export function purge(
  space: Space,
  queue: string,
  states: readonly JobState[],
): Partial<Record<JobState, number>> {
  const found = states.map((state) => [state, space.in(queue, state)] as const);
  for (const [, jobs] of found)
    for (const job of jobs) {
      if (isKept(job)) space.jobs.delete(job.id);
      else end(space, job, 'deleted');
    }
  return Object.fromEntries(found.map(([state, jobs]) => [state, jobs.length]));
}

const SIZES = ['ready', 'scheduled', 'leased', 'dead', 'blocked', 'held', 'done', 'cancelled'] as const;

/** How many jobs of a queue are in each state. */
export function counts(space: Space, queue: string): Record<string, number> {
  const sizes = Object.fromEntries(SIZES.map((state) => [state, space.in(queue, state).length]));
  const stuck = space.in(queue, 'blocked').filter(({ failed }) => failed.size > 0).length;
  return { ...sizes, stuck };
}
