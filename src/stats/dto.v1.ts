import { MAX_UINT32 } from '../domain/limits.js';
import { Nullable, Optional } from '../http/fields/field.js';
import { Formed, Part, Parts, Real, Whole } from '../http/fields/kinds.js';

/* Documents the statistics for OpenAPI. */

const QUEUE = /^(?:\*|[-A-Za-z0-9][-_A-Za-z0-9]*)$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const BIN = /^[smhd]\d{1,2}$/;
const MANY = Number.MAX_SAFE_INTEGER;
const MOST_BINS = 150;

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

export class BinAnswer {
  @Formed(
    'Its name: `s2` begins at two seconds, `m1` at a minute, `h1` at an hour, `d1` at a day.',
    BIN,
    'must be a bin',
  )
  bin!: string;
  @Whole('Its lower bound.', 0, MANY) from_ms!: number;
  @Nullable() @Whole('Its upper bound; null = none.', 0, MANY) to_ms!: number | null;
  @Whole('The number of values in it.', 1, MAX_UINT32) count!: number;
}

export class DurationsAnswer {
  @Whole('How many.', 0, MANY) count!: number;
  @Real('Their mean.', 0, MANY) mean_ms!: number;
  @Real('Their standard deviation, of the sample; 0 for fewer than two.', 0, MANY) std_ms!: number;
  @Parts('The bins that are not empty.', () => BinAnswer, MOST_BINS) histogram!: readonly BinAnswer[];
}

export class StatsAnswer {
  @Nullable()
  @Formed('The queue; null = all queues of the namespace.', QUEUE, "must be a queue's name or *")
  queue!: string | null;
  @Formed('The day (UTC).', DAY, 'must be a day') day!: string;
  @Part('Time from publish to lease.', () => DurationsAnswer) waits!: DurationsAnswer;
  @Part('Time from lease to acknowledgement.', () => DurationsAnswer) runs!: DurationsAnswer;
  @Whole('Jobs that died.', 0, MANY) failures!: number;
  @Whole('Failed attempts and expired leases that were followed by a retry.', 0, MANY) retries!: number;
  @Nullable()
  @Whole('Jobs that died on that day and are still dead; null for the queue `*`.', 0, MANY)
  still_dead!: number | null;
}
