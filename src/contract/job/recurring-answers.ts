import {
  MAX_CATCH_UP,
  MAX_CRON,
  MAX_JITTER_MS,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import { omit } from '../fields/derived.js';
import { Nullable, Optional } from '../fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  JobId,
  Label,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  Whole,
} from '../fields/kinds.js';
import type { Inside } from '../fields/wire.js';
import { JobOptions } from './options.js';
import { isCron, type Recurring, type Schedule } from './recurring.js';

/* Recurring jobs in answers. Requests say the same of some of the fields. */

export const CATCH_UP =
  'Maximum number of jobs published for missed slots, as after an outage: those of the latest slots. 0: a slot publishes a job only within a minute of its time.';
export const CATCH_UP_MS =
  'A slot that passed longer ago publishes no job; null: no limit. Applies in addition to `max_catch_up`.';
export const OVERLAP =
  'What happens at a slot while the job of an earlier slot has not ended. `allow`: publishes the next job. `skip`: publishes none. `replace`: replaces a waiting job, and publishes none while one is leased.';
export const OVERLAPS = ['allow', 'skip', 'replace'] as const;
export const NOTE = 'Why it is paused. Removed when it is resumed.';
export const MAX_UPCOMING = 100;

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

export class SkipAnswer {
  @Moment('The slot.') at!: string;
  @Label(
    'The reason: `max_catch_up`, `catch_up_ms`, `late` (`max_catch_up` is 0), `quota`, `unique_key`, `overlap`, `store_full`.',
    { max: MAX_LABEL },
  )
  reason!: string;
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
export class TemplateAnswer extends omit(JobOptions, ['data', 'data_base64', 'content_type', 'push']) {
  @QueueName('The queue.') queue!: string;
  @Optional() @AnyJson('Their payload, if it is JSON.') data?: unknown;
  @Optional() @Base64('Their payload, if it is not JSON.') data_base64?: string;
  @Label('The type of the payload.', { max: MAX_LABEL }) content_type!: string;
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

/** Data of a job in an answer. */
type AnswerData = Pick<Inside<TemplateAnswer>, 'data' | 'dataBase64' | 'contentType'>;

/** A recurring job as answers have it. @param data of its template */
export function recurringFacts(recurring: Recurring, data: AnswerData): Inside<RecurringAnswer> {
  const { schedule, template, isPaused } = recurring;
  const { body: _body, contentType: _type, unique, ...options } = template;
  const key = unique && { unique: { ...unique, windowMs: unique.windowMs ?? 0 } };
  return {
    ...recurring,
    schedule: scheduleFacts(schedule),
    job: { ...options, ...key, ...data },
    paused: isPaused,
  };
}

function scheduleFacts(schedule: Schedule): Inside<ScheduleAnswer> {
  if (!isCron(schedule)) return schedule;
  return { ...schedule, tz: schedule.timeZone, jitterMs: schedule.jitterMs ?? 0 };
}
