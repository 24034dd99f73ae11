import { dayText } from '../domain/day.js';
import { MAX_UINT32 } from '../domain/limits.js';
import { Nullable } from './fields/field.js';
import { Formed, Part, Parts, Real, Whole } from './fields/kinds.js';
import type { Inside } from './fields/wire.js';

/** The name of a queue, or `*`. */
export const QUEUE = /^(?:\*|[-A-Za-z0-9][-_A-Za-z0-9]*)$/;
export const DAY = /^\d{4}-\d{2}-\d{2}$/;
const BIN = /^[smhd]\d{1,2}$/;
const MANY = Number.MAX_SAFE_INTEGER;
const MOST_BINS = 150;

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

/** Durations of one kind, as the engine reads them. */
interface Moments extends Omit<Inside<DurationsAnswer>, 'histogram'> {
  readonly histogram: readonly ({ readonly name: string } & Omit<Inside<BinAnswer>, 'bin'>)[];
}

/** What was counted on a day. */
interface Counted {
  readonly waits: Moments;
  readonly runs: Moments;
  readonly failures: number;
  readonly retries: number;
}

/** Statistics as answers have them. @param day since 1970-01-01, UTC */
export function statsFacts(
  queue: string | null,
  day: number,
  { waits, runs, failures, retries }: Counted,
  stillDead: number | null,
): Inside<StatsAnswer> {
  const counts = { failures, retries, stillDead };
  return { queue, day: dayText(day), waits: durations(waits), runs: durations(runs), ...counts };
}

function durations({ count, meanMs, stdMs, histogram }: Moments): Inside<DurationsAnswer> {
  return { count, meanMs, stdMs, histogram: histogram.map(({ name: bin, ...rest }) => ({ bin, ...rest })) };
}
