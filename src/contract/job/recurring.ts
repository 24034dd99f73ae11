import {
  MAX_BACKLOG,
  MAX_CATCH_UP,
  MAX_CRON,
  MAX_JITTER_MS,
  MAX_LABEL,
  MAX_PERIOD_MS,
  MIN_RECURRING_MS,
} from '../../domain/limits.js';
import { optional } from '../fields/derived.js';
import { Nullable, Optional } from '../fields/field.js';
import { CheckedLabel, Flag, Label, Moment, OneOf, Part, QueueName, Whole } from '../fields/kinds.js';
import type { Inside } from '../fields/wire.js';
import type { NewExtendedJob } from './extended-job.js';
import { CRON_RULE, cronProblem, ZONE_RULE, zoneProblem } from './cron-text.js';
import { JobOptions } from './options.js';

/* Recurring jobs in requests and in the engine. */

const CATCH_UP =
  'Maximum number of jobs published for missed slots, as after an outage: those of the latest slots; default 1. 0: a slot publishes a job only within a minute of its time.';
const CATCH_UP_MS =
  'A slot that passed longer ago publishes no job; null: no limit. Less than 5,000 counts as 5,000: so late a slot is still on time. Applies in addition to `max_catch_up`.';
const OVERLAP =
  'What happens at a slot while the job of an earlier slot has not ended. `allow`: publishes the next job. `skip`: publishes none. `replace`: replaces a waiting job, and publishes none while one is leased.';
export const NOTE = 'Why it is paused. Removed when it is resumed.';
const BACKLOG =
  'Deprecated: the old name of `max_catch_up`, with 0 for as many as possible. Accepted until 1.0.';
const OVERLAPS = ['allow', 'skip', 'replace'] as const;

/** What happens at a slot while the job of an earlier slot has not ended. */
export type Overlap = (typeof OVERLAPS)[number];

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
  @CheckedLabel(
    'Cron expression: minute, hour, day of the month, month, day of the week; or six fields with seconds first. Supports names, L, W, #, and @daily and similar.',
    MAX_CRON,
    CRON_RULE,
    cronProblem,
  )
  cron?: string;
  @Optional()
  @CheckedLabel(
    'The time zone of `cron`, such as Europe/Berlin or UTC. Required with `cron`.',
    MAX_LABEL,
    ZONE_RULE,
    zoneProblem,
  )
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
export class TemplateChangeFields extends optional(TemplateFields) {}

/** What a recurring job has besides its schedule and its job. */
export class RecurringOptions {
  @Optional() @Whole(CATCH_UP, 0, MAX_CATCH_UP) max_catch_up?: number;
  @Optional() @Nullable() @Whole(CATCH_UP_MS, 0, MAX_PERIOD_MS) catch_up_ms?: number | null;
  /** Others than `allow` use the unique key of the job, which must be left out then. */
  @Optional() @OneOf(OVERLAP, OVERLAPS) overlap?: Overlap;
  @Optional() @Flag('True: it publishes nothing until it is resumed.') paused?: boolean;
  @Optional() @Nullable() @Label(NOTE, { max: MAX_LABEL }) note?: string | null;
}

/** The same in a request. */
export class GivenOptions extends RecurringOptions {
  @Optional() @Whole(BACKLOG, 0, MAX_BACKLOG) backlog?: number;
}

/** A recurring job to be stored under the id in the path. */
export class ReplaceRecurringFields extends GivenOptions {
  @Part('The schedule.', () => ScheduleFields) schedule!: ScheduleFields;
  @Part('The job of each slot.', () => TemplateFields) job!: TemplateFields;
}

/** A change; fields that are left out keep their value. */
export class RecurringChangeFields extends GivenOptions {
  @Optional()
  @Part(
    'A new schedule. Without `offset_ms` and `first_at` the slots keep their start.',
    () => ScheduleFields,
  )
  schedule?: ScheduleFields;
  @Optional()
  @Part('The changed fields of its jobs.', () => TemplateChangeFields)
  job?: TemplateChangeFields;
}

/** Slots at a fixed interval: `firstAtMs`, and every `everyMs` from then on. */
export interface IntervalSchedule {
  readonly everyMs: number;
  /** Unix ms. */
  readonly firstAtMs: number;
  /** The offset that the client gave in place of the first slot, or 0 if it gave neither. */
  readonly offsetMs?: number;
}

/**
 * Slots by a cron expression, in the local time of a time zone. A local time that a change of the clock leaves out has its
 * slot at the end of the gap; one that comes twice has it at its first occurrence.
 */
export interface CronSchedule {
  /** Five fields, or six with the seconds first; names, `L`, `W`, `#`, and nicknames such as `@daily`. */
  readonly cron: string;
  /** A name of the IANA database: `Europe/Berlin`. */
  readonly timeZone: string;
  /** Each job is made up to so many ms after its slot; how many depends on the id and the slot only. */
  readonly jitterMs?: number;
  /** No slot before, Unix ms. */
  readonly startAtMs?: number;
  /** No slot from then on, Unix ms. */
  readonly endAtMs?: number;
}

export type Schedule = IntervalSchedule | CronSchedule;

/** A schedule as the client gives it. */
export type NewSchedule = NewIntervalSchedule | CronSchedule;

/** Without a first slot, it starts at once. */
export interface NewIntervalSchedule {
  readonly everyMs: number;
  /** The first slot, milliseconds from now. */
  readonly offsetMs?: number;
  /** The first slot, Unix ms; alternative to `offsetMs`. One in the past defines the times of the slots that follow. */
  readonly firstAtMs?: number;
}

/** Why a slot made no job. */
export type SkipReason =
  | 'max_catch_up'
  | 'catch_up_ms'
  | 'late'
  | 'quota'
  | 'unique_key'
  | 'overlap'
  | 'missing_dependency'
  | 'store_full';

export interface Skip {
  /** The slot, Unix ms. */
  readonly atMs: number;
  readonly reason: SkipReason;
}

export function isCron(schedule: Schedule | NewSchedule): schedule is CronSchedule {
  return 'cron' in schedule;
}

/** Template of each job that it creates. */
export type Template = Omit<NewExtendedJob, 'id' | 'delayMs' | 'dueMs'>;

/** A recurring job as the client gives it. Without an id the engine makes a ULID. */
export interface NewRecurring extends Inside<RecurringOptions> {
  readonly id?: string;
  readonly schedule: NewSchedule;
  readonly template: Template;
}

/** Changes to a recurring job. Omitted fields stay unchanged; slots that pass while it is paused are skipped. */
export interface RecurringChange extends Inside<RecurringOptions> {
  /** Without an offset and a first slot, the first slot stays unchanged. */
  readonly schedule?: NewSchedule;
  readonly template?: Partial<Template>;
}

/** A recurring job. Times in Unix ms. */
export interface Recurring extends Required<Inside<RecurringOptions>> {
  readonly id: string;
  readonly schedule: Schedule;
  readonly template: Template;
  /** Number of jobs created. */
  readonly made: number;
  /** Slots without a job: passed beyond `maxCatchUp`, or prevented by a quota, a unique key or a missing dependency. */
  readonly skipped: number;
  /** The last slot that made no job; null = none yet. */
  readonly lastSkip: Skip | null;
  /** Null while it is paused, and when a cron schedule has ended. */
  readonly nextAtMs: number | null;
  /** The last slot so far; null = none yet. */
  readonly lastAtMs: number | null;
  readonly createdAtMs: number;
}
