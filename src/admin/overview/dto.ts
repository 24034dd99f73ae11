import { Nullable, Optional } from '../../contract/fields/field.js';
import {
  Flag,
  Formed,
  Label,
  Labels,
  Moment,
  NumbersOrNull,
  OneOf,
  Part,
  Parts,
  QueueName,
  Real,
  SomeOf,
  Text,
  Whole,
} from '../../contract/fields/kinds.js';
import { MAX_CURSOR, MAX_LABEL } from '../../domain/limits.js';

const MANY = Number.MAX_SAFE_INTEGER;
/** Names of namespaces and queues. */
const NAME = /^[-A-Za-z0-9][-_A-Za-z0-9]{0,254}$/;
const NAME_RULE = 'must be a name: letters, digits, - and _, at most 255, the first not _';
const MOST_ROWS = 200;

/** What queues are sorted by. */
export const SORTS = [
  ...(['name', 'ready', 'leased', 'scheduled', 'dead', 'blocked', 'held', 'oldest'] as const),
  ...(['published', 'acked', 'failed'] as const),
];
export type Sort = (typeof SORTS)[number];
/** Conditions on queues. */
export const CONDITIONS = [
  ...(['paused', 'dead', 'ready', 'leased', 'scheduled', 'blocked', 'held', 'stuck'] as const),
  ...(['failing', 'unworked'] as const),
];
export type Condition = (typeof CONDITIONS)[number];
export const ORDERS = ['asc', 'desc'] as const;
/** Lengths of intervals, in milliseconds. */
export const STEPS = ['10000', '300000'] as const;

export class OverviewQuery {
  @Optional() @Label('Only this pool; default all.', { max: MAX_LABEL }) pool?: string;
  @Optional() @Formed('Only this namespace; default all.', NAME, NAME_RULE) namespace?: string;
  @Optional()
  @Label('Only queues with this text in `namespace/queue`; case is ignored.', { max: 512 })
  match?: string;
  @Optional()
  @SomeOf(
    'Only queues that meet all conditions: they have such jobs, or are paused. `failing`: failed attempts within the last five minutes; `unworked`: ready jobs, and none was leased within the last five minutes.',
    CONDITIONS,
  )
  only: Condition[] = [];
  @Optional()
  @OneOf('What queues are sorted by; default `name`. Rates are those of the last five minutes.', SORTS)
  sort: Sort = 'name';
  @Optional()
  @OneOf('Default `asc` for names, else `desc`.', ORDERS)
  order?: (typeof ORDERS)[number];
  @Optional() @Whole('Most queues of a page; 50 if it is left out.', 1, MOST_ROWS) limit: number = 50;
  @Optional()
  @Label('The `next_cursor` of the page before, with the same other parameters.', { max: MAX_CURSOR })
  cursor?: string;
}

export class PoolAnswer {
  @Label('Its name.', { max: MAX_LABEL }) pool!: string;
  @Flag('False: Redis does not answer.') up!: boolean;
  @Labels('Its problems: `full`, `aof_off`, …', { min: 0, max: 20 }, { max: MAX_LABEL })
  degraded!: readonly string[];
  @Nullable() @Text('Why its queues could not be read; null = they were.', { max: 1_000 }) error!:
    | string
    | null;
  @Nullable() @Whole('Bytes that Redis uses.', 0, MANY) used_memory!: number | null;
  @Nullable() @Whole('Bytes that it may use; 0 = no limit.', 0, MANY) max_memory!: number | null;
  @Nullable() @Real('How long Redis took to answer, ms.', 0, MANY) latency_ms!: number | null;
  @Whole('Its queues, as far as the account may see them.', 0, MANY) queues!: number;
  @Whole('Their namespaces.', 0, MANY) namespaces!: number;
  @Nullable() @Label('The pool that it moves to.', { max: MAX_LABEL }) moves_to!: string | null;
  @Flag('False: no history is collected (`history.enabled`).') history!: boolean;
  @Nullable()
  @Moment('When samples of queues were taken last; null = never.')
  sampled_at!: string | null;
}

/** Jobs by state, and rates. */
class SumsAnswer {
  @Whole('Jobs that can be leased now.', 0, MANY) ready!: number;
  @Whole('Jobs with a lease.', 0, MANY) leased!: number;
  @Whole('Jobs that are not due yet.', 0, MANY) scheduled!: number;
  @Whole('Jobs in the dead-letter queue.', 0, MANY) dead!: number;
  @Whole('Jobs that wait for other jobs.', 0, MANY) blocked!: number;
  @Whole('Blocked jobs with a failed dependency.', 0, MANY) stuck!: number;
  @Whole('Jobs whose concurrency key is at its limit.', 0, MANY) held!: number;
  @Nullable()
  @Real('Jobs published a second, over the last five minutes; null = not collected.', 0, MANY)
  published_per_s!: number | null;
  @Nullable() @Real('Jobs acknowledged a second, likewise.', 0, MANY) acked_per_s!: number | null;
  @Nullable() @Real('Failed attempts a second, likewise.', 0, MANY) failed_per_s!: number | null;
}

export class TotalsAnswer extends SumsAnswer {
  @Whole('Queues.', 0, MANY) queues!: number;
  @Whole('Paused queues.', 0, MANY) paused!: number;
}

export class ActivityAnswer {
  @Whole('Length of an interval.', 0, MANY) step_ms!: number;
  @NumbersOrNull('Jobs published in each interval, the oldest first; null = not collected.')
  published!: readonly (number | null)[];
  @NumbersOrNull('Jobs acknowledged, likewise.') acked!: readonly (number | null)[];
  @NumbersOrNull('Attempts that failed, likewise.') failed!: readonly (number | null)[];
}

export class QueueRowAnswer extends SumsAnswer {
  @Label('Its pool.', { max: MAX_LABEL }) pool!: string;
  @Formed('Its namespace.', NAME, NAME_RULE) namespace!: string;
  @QueueName('Its name.') queue!: string;
  @Whole('Done jobs that are kept.', 0, MANY) done!: number;
  @Whole('Cancelled jobs that are kept.', 0, MANY) cancelled!: number;
  @Whole('Time since the oldest ready job was published; 0 = none is ready.', 0, MANY)
  oldest_ready_age_ms!: number;
  @Nullable() @Moment('Since when it is paused; null = not paused.') paused_at!: string | null;
  @Nullable() @Moment('Since when it is draining; null = not draining.') draining_at!: string | null;
  @Nullable()
  @Whole('Worker sessions that are not lost and lease from it; null = not read.', 0, MANY)
  workers!: number | null;
  @Nullable()
  @Part('The last 30 intervals; null = nothing is kept of it.', () => ActivityAnswer)
  activity!: ActivityAnswer | null;
  @Nullable() @Moment('The sample that it is sorted by; null = none.') sampled_at!: string | null;
  @Nullable() @Moment('When its jobs were counted; null = not yet.') read_at!: string | null;
}

export class OverviewAnswer {
  @Moment('The time of this answer.') now_at!: string;
  @Parts('The pools.', () => PoolAnswer, 1_000) pools!: readonly PoolAnswer[];
  @Part('Of all queues that the account may see, in the pools of the query.', () => TotalsAnswer)
  totals!: TotalsAnswer;
  @Whole('Queues that the query finds.', 0, MANY) matched!: number;
  @Parts('The queues of this page.', () => QueueRowAnswer, MOST_ROWS) items!: readonly QueueRowAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null on the last one.', { max: MAX_CURSOR })
  next_cursor!: string | null;
}

export class HistoryQuery {
  @Optional() @Label('The pool; `default` if it is left out.', { max: MAX_LABEL }) pool: string = 'default';
  @Optional()
  @OneOf('Length of an interval: `10000` for the last hour (default), `300000` for the last week.', STEPS)
  step_ms: (typeof STEPS)[number] = '10000';
}

export class HistoryAnswer {
  @Label('Its pool.', { max: MAX_LABEL }) pool!: string;
  @Formed('Its namespace.', NAME, NAME_RULE) namespace!: string;
  @QueueName('The queue.') queue!: string;
  @Whole('Length of an interval.', 0, MANY) step_ms!: number;
  @Moment('Begin of the first interval.') from_at!: string;
  @Moment('End of the last interval.') until_at!: string;
  @NumbersOrNull('Jobs published in each interval; null = not collected.') published!: readonly (
    | number
    | null
  )[];
  @NumbersOrNull('Jobs leased.') leased!: readonly (number | null)[];
  @NumbersOrNull('Jobs acknowledged.') acked!: readonly (number | null)[];
  @NumbersOrNull('Attempts that failed: expired leases too.') failed!: readonly (number | null)[];
  @NumbersOrNull('Jobs that died.') dead!: readonly (number | null)[];
  @NumbersOrNull('Ready jobs at its end.') ready!: readonly (number | null)[];
  @NumbersOrNull('Age of the oldest ready job at its end.') oldest_ready_age_ms!: readonly (number | null)[];
  @NumbersOrNull(
    'Median of the time from publish to lease; null = none was leased. To an eighth of the value.',
  )
  wait_p50_ms!: readonly (number | null)[];
  @NumbersOrNull('95th percentile of it.') wait_p95_ms!: readonly (number | null)[];
  @NumbersOrNull('Median of the time from lease to acknowledgement; null = none was acknowledged.')
  run_p50_ms!: readonly (number | null)[];
  @NumbersOrNull('95th percentile of it.') run_p95_ms!: readonly (number | null)[];
}
