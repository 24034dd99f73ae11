import { dayOf, dayText } from '../domain/day.js';
import { isQueueName } from '../domain/ids.js';
import type { Moments } from '../engine/stats/moments.js';
import { OTHER_QUEUES } from '../engine/stats/statistics.js';
import type { Tally } from '../engine/stats/tally.js';
import { InputError } from '../http/answer/errors.v1.js';
import { unknownIn } from '../http/fields/read.js';
import type { Query } from '../http/request/head.js';
import { StatsQuery } from './dto.v1.js';

const QUEUE_RULE = `must be the name of a queue, or ${OTHER_QUEUES} for all queues without statistics of their own; omit it for the total of all queues`;
const DAY_RULE = 'must be a day as YYYY-MM-DD; omit it for today (UTC)';

/** Durations of one kind: milliseconds, and a histogram without its empty bins. */
interface DurationsJson {
  readonly count: number;
  readonly mean_ms: number;
  readonly std_ms: number;
  readonly histogram: readonly {
    /** `s0` … `s59`, `m1` … `m59`, `h1` … `h23`, `d1` … `d6`, `d7` for everything longer. */
    readonly bin: string;
    readonly from_ms: number;
    /** Null: no upper end. */
    readonly to_ms: number | null;
    readonly count: number;
  }[];
}

/** The response body. */
interface StatsJson {
  /** Null: all queues of the namespace. */
  readonly queue: string | null;
  readonly day: string;
  readonly waits: DurationsJson;
  readonly runs: DurationsJson;
  readonly failures: number;
  readonly retries: number;
  /** Null: not known, of `OTHER_QUEUES`. */
  readonly still_dead: number | null;
}

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

/** Statistics in the format of the API. */
export function statsJson(
  queue: string | null,
  day: number,
  tally: Tally,
  stillDead: number | null,
): StatsJson {
  const { waits, runs, failures, retries } = tally;
  const counts = { failures, retries, still_dead: stillDead };
  return { queue, day: dayText(day), waits: durations(waits), runs: durations(runs), ...counts };
}

function durations({ count, meanMs, stdMs, histogram }: Moments): DurationsJson {
  const bins = histogram.map(({ name, fromMs, toMs, count: many }) => ({
    bin: name,
    from_ms: fromMs,
    to_ms: toMs,
    count: many,
  }));
  return { count, mean_ms: meanMs, std_ms: stdMs, histogram: bins };
}
