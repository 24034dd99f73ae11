import {
  MAX_BACKLOG,
  MAX_CATCH_UP,
  MAX_CRON,
  MAX_JITTER_MS,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MAX_RECURRING_ID,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import {
  Flag,
  Formed,
  JobId,
  Label,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Whole,
} from '../../contract/fields/kinds.js';
import { JobOptions } from '../../contract/job/options.js';
import type { Overlap } from '../../contract/job/recurring.js';
import {
  CATCH_UP,
  CATCH_UP_MS,
  MAX_UPCOMING,
  NOTE,
  OVERLAP,
  OVERLAPS,
  RecurringAnswer,
} from '../../contract/job/recurring-answers.js';
import { PageQuery } from '../../http/request/page-query.js';

const RECURRING_ID = new RegExp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,${String(MAX_RECURRING_ID - 1)}}$`);
const RECURRING_ID_RULE = `must be at most ${String(MAX_RECURRING_ID)} letters, digits, - and _, the first a letter or a digit`;
const CATCH_UP_USUAL = `${CATCH_UP} 1 if it is left out.`;
const BACKLOG =
  'Deprecated: the old name of `max_catch_up`, with 0 for as many as possible. Accepted until 1.0.';
const COUNT = 'How many slots; 10 if it is left out.';
const MANY = 1_000_000_000;

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
export class TemplateFields extends JobOptions {
  @QueueName('The queue.') queue!: string;
}

/** Changes to the jobs that are published from now on. */
export class TemplateChangeFields extends JobOptions {
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

export class RunAnswer {
  @JobId('The published job.') id!: string;
}

export class RecurringQuery extends PageQuery {
  @Optional()
  @QueueName('Only those that publish to it. Pages may be short, or empty, before the last one.')
  queue?: string;
}

export class RecurringPageAnswer {
  @Parts('The recurring jobs of the page, by id.', () => RecurringAnswer, MANY)
  items!: readonly RecurringAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null if there is none.', { max: MAX_LABEL })
  next_cursor!: string | null;
}
