import type { NewExtendedJob } from './extended-job.js';

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

/**
 * What happens at a slot while the job of an earlier slot has not ended. `allow`: its job is made all the same; `skip`: no job is made; `replace`: the new job takes the place of
 * one that waits, and none is made while one is leased.
 */
export type Overlap = 'allow' | 'skip' | 'replace';

/** Why a slot made no job. */
export type SkipReason =
  | 'max_catch_up'
  | 'catch_up_ms'
  | 'late'
  | 'quota'
  | 'unique_key'
  | 'overlap'
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

/** A recurring job as the client gives it. */
export interface NewRecurring {
  /** Given by the caller; if omitted, the engine mints a ULID. */
  readonly id?: string;
  readonly schedule: NewSchedule;
  readonly template: Template;
  /**
   * How many jobs it makes at once when several slots have passed, as after an outage: for the last ones; default 1. 0: a
   * slot makes a job only within a minute of its time.
   */
  readonly maxCatchUp?: number;
  /** A slot that has passed for longer makes no job; null or left out = however long. */
  readonly catchUpMs?: number | null;
  /** Default `allow`. The others use the unique key of the template, which must be left out then. */
  readonly overlap?: Overlap;
  readonly isPaused?: boolean;
  /** Why it is paused; removed when it is resumed. */
  readonly note?: string | null;
}

/** Changes to a recurring job. Omitted fields stay unchanged. */
export interface RecurringChange {
  /** Without an offset and a first slot, the first slot stays unchanged. */
  readonly schedule?: NewSchedule;
  readonly template?: Partial<Template>;
  readonly maxCatchUp?: number;
  readonly catchUpMs?: number | null;
  readonly overlap?: Overlap;
  /** Slots that pass while it is paused are skipped. */
  readonly isPaused?: boolean;
  readonly note?: string | null;
}

/** A recurring job. Times in Unix ms. */
export interface Recurring {
  readonly id: string;
  readonly schedule: Schedule;
  readonly template: Template;
  readonly maxCatchUp: number;
  readonly catchUpMs: number | null;
  readonly overlap: Overlap;
  readonly isPaused: boolean;
  readonly note: string | null;
  /** Number of jobs created. The id of the last one is `<id>-<made>`. */
  readonly made: number;
  /** Slots without a job: passed beyond `maxCatchUp`, or prevented by a quota or a unique key. */
  readonly skipped: number;
  /** The last slot that made no job; null = none yet. */
  readonly lastSkip: Skip | null;
  /** Null while it is paused, and when a cron schedule has ended. */
  readonly nextAtMs: number | null;
  /** The last slot so far; null = none yet. */
  readonly lastAtMs: number | null;
  readonly createdAtMs: number;
}
