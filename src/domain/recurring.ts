import type { NewExtendedJob } from './extended-job.js';

/** The slots of a recurring job: `firstAtMs`, and every `everyMs` from then on. */
export interface Schedule {
  readonly everyMs: number;
  /** Unix ms. */
  readonly firstAtMs: number;
}

/** A schedule as the client gives it. Without a first slot, it starts at once. */
export interface NewSchedule {
  readonly everyMs: number;
  /** The first slot, milliseconds from now. */
  readonly offsetMs?: number;
  /** The first slot, Unix ms; alternative to `offsetMs`. One in the past defines the times of the slots that follow. */
  readonly firstAtMs?: number;
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
  readonly isPaused?: boolean;
}

/** Changes to a recurring job. Omitted fields stay unchanged. */
export interface RecurringChange {
  /** Without an offset and a first slot, the first slot stays unchanged. */
  readonly schedule?: NewSchedule;
  readonly template?: Partial<Template>;
  readonly maxCatchUp?: number;
  /** Slots that pass while it is paused are skipped. */
  readonly isPaused?: boolean;
}

/** A recurring job. Times in Unix ms. */
export interface Recurring {
  readonly id: string;
  readonly schedule: Schedule;
  readonly template: Template;
  readonly maxCatchUp: number;
  readonly isPaused: boolean;
  /** Number of jobs created. The id of the last one is `<id>-<made>`. */
  readonly made: number;
  /** Slots without a job: passed beyond `maxCatchUp`, or prevented by a quota or a unique key. */
  readonly skipped: number;
  /** Null while it is paused. */
  readonly nextAtMs: number | null;
  /** The last slot so far; null = none yet. */
  readonly lastAtMs: number | null;
  readonly createdAtMs: number;
}
