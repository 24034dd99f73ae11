import type { LeasedJob } from '../../domain/job.js';
import type { Question } from '../questions.js';

/** Jobs that one call of the full lane's lease script takes at most: about 1.5 ms of Redis. */
const MOST_AT_ONCE = 50;
/** A job to take weighs in a batch as much as it costs in time: so many of them fill a script. */
const TAKE_WEIGHT = 5_242;
/** The name of a queue to look at weighs likewise. */
const NAME_WEIGHT = 262;
/** Bodies that an answer has, in bytes, when no further part is asked for: a part brings up to 4 MiB. */
const ENOUGH_BYTES = 2_097_152;

/** As much of a question as one script has the time for. */
export function partOf(question: Question): Question {
  const { request, waits } = question;
  return request.count <= MOST_AT_ONCE ? question : { request: { ...request, count: MOST_AT_ONCE }, waits };
}

/** What is left to ask when a part found as much as it could; null = nothing. Who has jobs does not wait for more. */
export function restOf({ request }: Question, found: readonly LeasedJob[]): Question | null {
  if (found.length < MOST_AT_ONCE || found.length >= request.count) return null;
  const bytes = found.reduce((sum, { body }) => sum + body.length, 0);
  if (bytes >= ENOUGH_BYTES) return null;
  return { request: { ...request, count: request.count - found.length }, waits: false };
}

/** What a part weighs in a batch. */
export function weightOfPart({ request: { count, queues } }: Question): number {
  return count * TAKE_WEIGHT + (queues.length - 1) * NAME_WEIGHT;
}
