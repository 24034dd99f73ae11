import type { Caller } from '../domain/caller.js';
import type { JobPlace } from '../domain/job/extended-job.js';
import { checkVerb, isForQueue, isForSomeQueues, notAllowed, type Rights } from '../domain/rights.js';
import type { JobCalls } from '../engine/engine.js';

/*
 * Rights on jobs that are not found by their queue: a token for some queues must not learn anything about jobs in other
 * queues. Tokens for all queues cost no lookup.
 */

/** Those ids whose jobs are in a queue of the token; ids without a job are omitted. */
export async function visibleOf(
  jobs: Pick<JobCalls, 'placesOf'>,
  { namespace, rights }: Caller,
  ids: readonly string[],
): Promise<string[]> {
  if (!isForSomeQueues(rights) || ids.length === 0) return [...ids];
  const places = await jobs.placesOf(namespace, ids);
  return ids.filter((_id, i) => isVisible(rights, places[i]));
}

function isVisible(rights: Rights | null, place: JobPlace | null | undefined): boolean {
  return place !== null && place !== undefined && isForQueue(rights, place.queue);
}

/**
 * A job may only depend on jobs that its token may lease and read: it gets their results, learns how they end, and prevents
 * their cancellation. One that does not exist counts as done, so a job in another queue must be rejected.
 *
 * @throws {QueueError} `verb_missing`, whether there are such jobs or not; `queue_not_allowed`
 */
export async function checkDependencies(
  jobs: Pick<JobCalls, 'placesOf'>,
  { namespace, rights }: Caller,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  // guard: dependencies-need-consume
  checkVerb(rights, 'consume');
  if (!isForSomeQueues(rights)) return;
  const places = await jobs.placesOf(namespace, ids);
  const foreign = places.findIndex((place) => place !== null && !isForQueue(rights, place.queue));
  // guard: no-dependency-on-other-queues
  if (foreign >= 0) throw notAllowed(rights, `the job ${ids[foreign] ?? ''} of depends_on`);
}
