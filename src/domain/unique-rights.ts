import type { UniqueKey } from './extended-job.js';
import type { Rights } from './rights.js';

/**
 * Restricts a job to what a token may publish. A unique key is valid in the whole namespace: with a token for some
 * queues it must neither change a job of another queue nor reveal it.
 */
export function withinRights<T extends { readonly unique?: UniqueKey }>(rights: Rights | null, job: T): T {
  if (rights === null || rights.queues === null || job.unique === undefined) return job;
  return { ...job, unique: { ...job.unique, isOwnQueueOnly: true } };
}
