import { Optional } from '../contract/fields/field.js';
import { Formed } from '../contract/fields/kinds.js';
import { DAY, QUEUE } from '../contract/stats.js';

/* Documents the statistics for OpenAPI. */

export class StatsQuery {
  @Optional()
  @Formed(
    'The queue; `*` = queues without statistics of their own; default: all queues together.',
    QUEUE,
    "must be a queue's name or *",
  )
  queue?: string;
  @Optional()
  @Formed('The day (UTC), as YYYY-MM-DD; default today.', DAY, 'must be a day')
  day?: string;
}
