import type { NewRichJob } from './rich-job.js';

/** When a recurring job makes one: at `firstAtMs`, and every `everyMs` from there on. */
export interface Schedule {
  readonly everyMs: number;
  /** Unix ms. */
  readonly firstAtMs: number;
}

/** A schedule as it is given. Left out, the first slot is at once. */
export interface NewSchedule {
  readonly everyMs: number;
  /** The first slot, milliseconds from now. */
  readonly offsetMs?: number;
  /** The first slot, Unix ms, instead of `offsetMs`. One in the past counts as the beginning of the row. */
  readonly firstAtMs?: number;
}

/** What each job that it makes is like. */
export type Template = Omit<NewRichJob, 'id' | 'delayMs' | 'dueMs'>;

/** A recurring job as it is handed over. */
export interface NewRecurring {
  /** Chosen by the caller; left out, the engine mints a ULID. */
  readonly id?: string;
  readonly schedule: NewSchedule;
  readonly template: Template;
  /** After an outage, how many of the missed slots are made up for, the last ones; 0, the default: all of them. */
  readonly backlog?: number;
  readonly isPaused?: boolean;
}

/** What is to be changed about one. What is left out stays. */
export interface RecurringChange {
  /** With neither an offset nor a first slot, the row begins where it began. */
  readonly schedule?: NewSchedule;
  readonly template?: Partial<Template>;
  readonly backlog?: number;
  /** Slots that pass meanwhile are not made up for. */
  readonly isPaused?: boolean;
}

/** A recurring job. Times in Unix ms. */
export interface Recurring {
  readonly id: string;
  readonly schedule: Schedule;
  readonly template: Template;
  readonly backlog: number;
  readonly isPaused: boolean;
  /** Jobs that it has made. The last one's id is `<id>-<made>`. */
  readonly made: number;
  /** Slots that made none: missed beyond the backlog, or forbidden by a quota or a unique key. */
  readonly skipped: number;
  /** Null while it is paused. */
  readonly nextAtMs: number | null;
  /** The last slot that came; null = none yet. */
  readonly lastAtMs: number | null;
  readonly createdAtMs: number;
}
