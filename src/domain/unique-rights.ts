import type { UniqueKey } from './rich-job.js';
import type { Rights } from './rights.js';

/**
 * A job as whoever publishes it may have it: a unique key counts for a whole namespace, but who is let into some of its queues only
 * removes or changes no job of another one by it.
 */
export function withinRights<T extends { readonly unique?: UniqueKey }>(rights: Rights | null, job: T): T {
  if (rights === null || rights.queues === null || job.unique === undefined) return job;
  return { ...job, unique: { ...job.unique, isOwnQueueOnly: true } };
}
