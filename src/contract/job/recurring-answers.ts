import { MAX_LABEL } from '../../domain/limits.js';
import { localTimes } from '../../domain/local-time.js';
import { join, omit, pick, required } from '../fields/derived.js';
import { Nullable, Optional } from '../fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  JobId,
  Label,
  Moment,
  Part,
  Parts,
  QueueName,
  Whole,
} from '../fields/kinds.js';
import type { Inside } from '../fields/wire.js';
import { JobOptions } from './options.js';
import {
  isCron,
  type NewSchedule,
  type Recurring,
  RecurringOptions,
  type Schedule,
  ScheduleFields,
} from './recurring.js';

/* Recurring jobs in answers. */

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
    'The reason: `max_catch_up`, `catch_up_ms`, `late` (`max_catch_up` is 0), `quota`, `unique_key`, `overlap`, `missing_dependency` (of a job with `on_missing_dependency`), `store_full`.',
    { max: MAX_LABEL },
  )
  reason!: string;
}

export class ScheduleAnswer extends pick(
  ScheduleFields,
  [
    ...(['every_ms', 'first_at', 'offset_ms'] as const),
    ...(['cron', 'tz', 'jitter_ms', 'start_at', 'end_at'] as const),
  ],
  {
    first_at: 'By interval: the first slot.',
    offset_ms: 'By interval: the given offset of the first slot; missing if `first_at` was given.',
    cron: 'By cron: the expression.',
    tz: 'By cron: the time zone.',
  },
) {}

/** The job that a schedule publishes; fields that are missing have the default of the queue. */
export class TemplateAnswer extends omit(JobOptions, ['data', 'data_base64', 'content_type', 'push']) {
  @QueueName('The queue.') queue!: string;
  @Optional() @AnyJson('Their payload, if it is JSON.') data?: unknown;
  @Optional() @Base64('Their payload, if it is not JSON.') data_base64?: string;
  @Label('The type of the payload.', { max: MAX_LABEL }) content_type!: string;
}

class RecurringPlan {
  @JobId('Its id. Its jobs have it in `spawned_from`, and as the prefix of their ids.')
  id!: string;
  @Part('The schedule.', () => ScheduleAnswer) schedule!: ScheduleAnswer;
  @Part('The job of each slot.', () => TemplateAnswer) job!: TemplateAnswer;
}

export class RecurringAnswer extends join(RecurringPlan, required(RecurringOptions)) {
  @Whole('Number of published jobs.', 0, Number.MAX_SAFE_INTEGER)
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
  const { schedule, template } = recurring;
  const { body: _body, contentType: _type, unique, ...options } = template;
  const key = unique && { unique: { ...unique, windowMs: unique.windowMs ?? 0 } };
  return { ...recurring, schedule: scheduleFacts(schedule), job: { ...options, ...key, ...data } };
}

function scheduleFacts(schedule: Schedule): Inside<ScheduleAnswer> {
  if (!isCron(schedule)) return schedule;
  return { ...schedule, tz: schedule.timeZone, jitterMs: schedule.jitterMs ?? 0 };
}

/** A slot to come, as the engine computes it. */
interface Slot {
  readonly atMs: number;
  readonly isMoved: boolean;
}

/** Slots to come as answers have them, with their local times if a cron expression has a time zone. */
export function upcomingFacts(slots: readonly Slot[], schedule: NewSchedule): Inside<UpcomingAnswer> {
  const local = isCron(schedule) ? localTimes(schedule.timeZone) : () => null;
  return { slots: slots.map(({ atMs, isMoved }) => ({ atMs, local: local(atMs), moved: isMoved })) };
}
