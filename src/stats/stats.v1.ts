import { InputError } from '../contract/fields/problems.js';
import { dayOf } from '../domain/day.js';
import { isQueueName } from '../domain/ids.js';
import { OTHER_QUEUES } from '../engine/stats/statistics.js';
import type { Query } from '../http/request/head.js';
import { unknownIn } from '../http/request/query-fields.js';
import { StatsQuery } from './dto.v1.js';

const QUEUE_RULE = `must be the name of a queue, or ${OTHER_QUEUES} for all queues without statistics of their own; omit it for the total of all queues`;
const DAY_RULE = 'must be a day as YYYY-MM-DD; omit it for today (UTC)';

/**
 * Reads the query. Days are counted from 1970-01-01, UTC. Without a queue: all of the namespace.
 *
 * @throws {InputError} naming the wrong parameters
 */
export function statsQueryOf(
  query: Query,
  today: number,
): { readonly queue: string | null; readonly day: number } {
  const problems = unknownIn(/* guard: stats-parameters-refused */ query, StatsQuery);
  const { queue = null, day: text } = query;
  const isName = queue === null || isQueueName(queue);
  if (!isName && queue !== OTHER_QUEUES) problems.push({ field: 'queue', rule: QUEUE_RULE });
  const day = text === undefined ? today : dayOf(text);
  if (day === undefined) problems.push({ field: 'day', rule: DAY_RULE });
  if (problems.length > 0 || day === undefined) throw new InputError(problems);
  return { queue, day };
}
