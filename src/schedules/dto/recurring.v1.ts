import {
  MAX_BACKLOG,
  MAX_CATCH_UP,
  MAX_CRON,
  MAX_JITTER_MS,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_PRIORITY,
  MAX_RECURRING_ID,
  MAX_TRIES,
  MIN_PRIORITY,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import type { Overlap } from '../../domain/job/recurring.js';
import { Nullable, Optional } from '../../http/fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  Formed,
  JobId,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  TextsByName,
  Whole,
} from '../../http/fields/kinds.js';
import { OptionFields, UniqueFields } from '../../http/job-fields/fields.js';
import { PageQuery } from '../../http/request/page-query.js';
import { RetryPolicyFields } from '../../http/job-fields/retry-policy.v1.js';

const RECURRING_ID = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,${String(MAX_RECURRING_ID - 1)}}$`);
const RECURRING_ID_RULE = `must be at most ${String(MAX_RECURRING_ID)} letters, digits, - and _, the first a letter or a digit`;
const CATCH_UP =
  'Maximum number of jobs published for missed slots, as after an outage: those of the latest slots. 0: a slot publishes a job only within a minute of its time.';
const CATCH_UP_USUAL = `${CATCH_UP} 1 if it is left out.`;
const BACKLOG =
  'Deprecated: the old name of `max_catch_up`, with 0 for as many as possible. Accepted until 1.0.';
const CATCH_UP_MS =
  'A slot that passed longer ago publishes no job; null: no limit. Applies in addition to `max_catch_up`.';
const OVERLAP =
  'What happens at a slot while the job of an earlier slot has not ended. `allow`: publishes the next job. `skip`: publishes none. `replace`: replaces a waiting job, and publishes none while one is leased.';
const OVERLAPS = ['allow', 'skip', 'replace'] as const;
const NOTE = 'Why it is paused. Removed when it is resumed.';
const COUNT = 'How many slots; 10 if it is left out.';
const MAX_UPCOMING = 100;
/** For answer fields that have no upper bound. */
const MANY = 1_000_000_000;
const ANY_NAME = /^[^]*$/;

/** The schedule of a recurring job: by interval, or by cron. */
export class ScheduleFields {
  @Optional()
  @Whole('By interval: the time between two slots.', MIN_RECURRING_MS, MAX_PERIOD_MS)
  every_ms?: number;
  @Optional() @Whole('Time from now to the first slot; default 0.', 0, MAX_PERIOD_MS) offset_ms?: number;
  @Optional()
  @Moment('The first slot, instead of `offset_ms`; may be in the past.')
  first_at?: string;
  @Optional()
  @Label(
    'Cron expression: minute, hour, day of the month, month, day of the week; or six fields with seconds first. Supports names, L, W, #, and @daily and similar.',
    { max: MAX_CRON },
  )
  cron?: string;
  @Optional()
  @Label('The time zone of `cron`, such as Europe/Berlin or UTC. Required with `cron`.', { max: MAX_LABEL })
  tz?: string;
  @Optional()
  @Whole(
    'With `cron`: each job is published up to this much after its slot; the delay depends only on the id and the slot. Default 0.',
    0,
    MAX_JITTER_MS,
  )
  jitter_ms?: number;
  @Optional() @Moment('With `cron`: no slot before this time.') start_at?: string;
  @Optional() @Moment('With `cron`: no slot from this time on.') end_at?: string;
}

/** The job that a schedule publishes. */
export class TemplateFields extends OptionFields {
  @QueueName('The queue.') queue!: string;
}

/** Changes to the jobs that are published from now on. */
export class TemplateChangeFields extends OptionFields {
  @Optional() @QueueName('The queue.') queue?: string;
}

/** A recurring job to be stored under the id in the path. */
export class ReplaceRecurringFields {
  @Part('The schedule.', () => ScheduleFields) schedule!: ScheduleFields;
  @Part('The job of each slot.', () => TemplateFields) job!: TemplateFields;
  @Optional() @Whole(CATCH_UP_USUAL, 0, MAX_CATCH_UP) max_catch_up?: number;
  @Optional() @Whole(BACKLOG, 0, MAX_BACKLOG) backlog?: number;
  @Optional() @Nullable() @Whole(CATCH_UP_MS, 0, MAX_PERIOD_MS) catch_up_ms?: number | null;
  @Optional() @OneOf(OVERLAP, OVERLAPS) overlap?: Overlap;
  @Optional() @Flag('True: it publishes nothing until it is resumed.') paused?: boolean;
  @Optional() @Nullable() @Label(NOTE, { max: MAX_LABEL }) note?: string | null;
}

/** A recurring job to store. */
export class RecurringFields extends ReplaceRecurringFields {
  @Optional()
  @Formed(
    'An id of your choice; default: generated. An existing one is replaced; its counters continue.',
    RECURRING_ID,
    RECURRING_ID_RULE,
  )
  id?: string;
}

/** A change; fields that are left out keep their value. */
export class RecurringChangeFields {
  @Optional()
  @Part(
    'A new schedule. Without `offset_ms` and `first_at` the slots keep their start.',
    () => ScheduleFields,
  )
  schedule?: ScheduleFields;
  @Optional()
  @Part('The changed fields of its jobs.', () => TemplateChangeFields)
  job?: TemplateChangeFields;
  @Optional() @Whole(CATCH_UP, 0, MAX_CATCH_UP) max_catch_up?: number;
  @Optional() @Whole(BACKLOG, 0, MAX_BACKLOG) backlog?: number;
  @Optional() @Nullable() @Whole(CATCH_UP_MS, 0, MAX_PERIOD_MS) catch_up_ms?: number | null;
  @Optional() @OneOf(OVERLAP, OVERLAPS) overlap?: Overlap;
  @Optional() @Flag('True: it publishes nothing until it is resumed.') paused?: boolean;
  @Optional() @Nullable() @Label(NOTE, { max: MAX_LABEL }) note?: string | null;
}

export class PauseFields {
  @Optional() @Label(NOTE, { max: MAX_LABEL }) note?: string;
}

export class PreviewFields {
  @Part('A schedule, which is not stored.', () => ScheduleFields) schedule!: ScheduleFields;
  @Optional() @Whole(COUNT, 1, MAX_UPCOMING) count?: number;
}

export class UpcomingQuery {
  @Optional() @Whole(COUNT, 1, MAX_UPCOMING) count?: number;
}

export class UpcomingSlotAnswer {
  @Moment('The slot, without its jitter.') at!: string;
  @Nullable() @Label('With cron: the local time in its time zone.', { max: MAX_LABEL }) local!: string | null;
  @Flag('True: the local time is skipped by a clock change; this is the end of the gap.')
  moved!: boolean;
}

export class UpcomingAnswer {
  @Parts(
    'The next slots, in order; fewer at the end of the schedule.',
    () => UpcomingSlotAnswer,
    MAX_UPCOMING,
  )
  slots!: readonly UpcomingSlotAnswer[];
}

export class RunAnswer {
  @JobId('The published job.') id!: string;
}

export class SkipAnswer {
  @Moment('The slot.') at!: string;
  @Label(
    'The reason: `max_catch_up`, `catch_up_ms`, `late` (`max_catch_up` is 0), `quota`, `unique_key`, `overlap`, `store_full`.',
    { max: MAX_LABEL },
  )
  reason!: string;
}

export class RecurringQuery extends PageQuery {
  @Optional()
  @QueueName('Only those that publish to it. Pages may be short, or empty, before the last one.')
  queue?: string;
}

export class ScheduleAnswer {
  @Optional()
  @Whole('By interval: the time between two slots.', MIN_RECURRING_MS, MAX_PERIOD_MS)
  every_ms?: number;
  @Optional() @Moment('By interval: the first slot.') first_at?: string;
  @Optional()
  @Whole(
    'By interval: the given offset of the first slot; missing if `first_at` was given.',
    0,
    MAX_PERIOD_MS,
  )
  offset_ms?: number;
  @Optional() @Label('By cron: the expression.', { max: MAX_CRON }) cron?: string;
  @Optional() @Label('By cron: the time zone.', { max: MAX_LABEL }) tz?: string;
  @Optional()
  @Whole('By cron: each job is published up to this much later.', 0, MAX_JITTER_MS)
  jitter_ms?: number;
  @Optional() @Moment('By cron: no slot before this time.') start_at?: string;
  @Optional() @Moment('By cron: no slot from this time on.') end_at?: string;
}

/** The job that a schedule publishes; fields that are missing have the default of the queue. */
export class TemplateAnswer {
  @QueueName('The queue.') queue!: string;
  @Optional() @AnyJson('Their payload, if it is JSON.') data?: unknown;
  @Optional() @Base64('Their payload, if it is not JSON.') data_base64?: string;
  @Label('The type of the payload.', { max: MAX_LABEL }) content_type!: string;
  @Optional() @Whole('How long each may exist.', 0, MAX_PERIOD_MS) ttl_ms?: number;
  @Optional() @Whole('Tries of each job.', 1, MAX_TRIES) tries?: number;
  @Optional() @Whole('Duration of a lease (visibility timeout).', 1, MAX_PERIOD_MS) ttr_ms?: number;
  @Optional()
  @Whole('Shortest delay before the next attempt after a lease has expired.', 0, MAX_PERIOD_MS)
  lease_grace_ms?: number;
  @Optional() @Whole('Its priority; lower runs first.', MIN_PRIORITY, MAX_PRIORITY) priority?: number;
  @Optional() @Label('The kind of work, for the choice of a handler.', { max: MAX_LABEL }) type?: string;
  @Optional() @Labels('Their tags.', { max: MANY }, { max: MAX_LABEL }) tags?: readonly string[];
  @Optional()
  @TextsByName('Their attributes.', { count: MANY, name: ANY_NAME, nameRule: '', max: MANY })
  attributes?: Readonly<Record<string, string>>;
  @Optional()
  @Labels('Jobs that must be done first.', { max: MANY }, { max: MAX_LABEL })
  depends_on?: readonly string[];
  @Optional()
  @Label('What happens if a dependency fails.', { max: MAX_LABEL })
  on_dependency_failure?: string;
  @Optional() @Part('The retry policy.', () => RetryPolicyFields) retry?: RetryPolicyFields;
  @Optional()
  @Part('A key that at most one live job holds (deduplication).', () => UniqueFields)
  unique?: UniqueFields;
  @Optional() @Label('Their concurrency key.', { max: MAX_LABEL }) concurrency_key?: string;
  @Optional() @Whole('How long they are kept when they are done.', 0, MAX_PERIOD_MS) retention_ms?: number;
  @Optional() @Flag('Their timeline is recorded from the start.') history?: boolean;
}

export class RecurringAnswer {
  @JobId('Its id. Its jobs have it in `spawned_from`, and as the prefix of their ids.')
  id!: string;
  @Part('The schedule.', () => ScheduleAnswer) schedule!: ScheduleAnswer;
  @Part('The job of each slot.', () => TemplateAnswer) job!: TemplateAnswer;
  @Whole(CATCH_UP, 0, MAX_CATCH_UP) max_catch_up!: number;
  @Nullable() @Whole(CATCH_UP_MS, 0, MAX_PERIOD_MS) catch_up_ms!: number | null;
  @OneOf(OVERLAP, OVERLAPS) overlap!: string;
  @Flag('True: it publishes nothing until it is resumed.') paused!: boolean;
  @Nullable() @Label(NOTE, { max: MAX_LABEL }) note!: string | null;
  @Whole('Number of published jobs. The id of the last one ends in this number.', 0, Number.MAX_SAFE_INTEGER)
  made!: number;
  @Whole('Number of skipped slots; the reasons are those of `last_skip`.', 0, Number.MAX_SAFE_INTEGER)
  skipped!: number;
  @Nullable()
  @Part('The last skipped slot; null if there is none.', () => SkipAnswer)
  last_skip!: SkipAnswer | null;
  @Nullable() @Moment('The next slot; null while it is paused, and when its schedule has ended.') next_at!:
    | string
    | null;
  @Nullable() @Moment('The last slot; null if there was none.') last_at!: string | null;
  @Moment('When it was created.') created_at!: string;
}

export class RecurringPageAnswer {
  @Parts('The recurring jobs of the page, by id.', () => RecurringAnswer, MANY)
  items!: readonly RecurringAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null if there is none.', { max: MAX_LABEL })
  next_cursor!: string | null;
}
