import type { RetryPolicy } from './job/extended-job.js';

/** Maximum rate of starts: `rate` in `periodMs`, and `burst` at once after a pause. */
export interface Rate {
  readonly rate: number;
  readonly periodMs: number;
  readonly burst: number;
}

/** Defaults of a queue for options that a native publish or lease omits. Milliseconds. */
export interface QueueDefaults {
  /** 0 = no expiry. */
  readonly ttlMs?: number;
  readonly tries?: number;
  readonly ttrMs?: number;
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  readonly retentionMs?: number;
}

/** Limits that an operator may set for a queue; null = no limit. */
export interface QueueLimits {
  /** Maximum number of jobs of the queue leased at once, on all servers together. */
  readonly maxRunning: number | null;
  /** The same per concurrency key. */
  readonly maxRunningPerKey: number | null;
  /** Maximum rate at which leases of its jobs start. */
  readonly rate: Rate | null;
  /** The same per concurrency key. */
  readonly ratePerKey: Rate | null;
  readonly defaults: QueueDefaults;
  /** Maximum number of done and cancelled jobs that are kept for their retention; the newest ones are kept. */
  readonly maxKept: number | null;
  /** False: jobs stored in the queue from then on are in no list by tag. Their tags stay on them. */
  readonly indexTags: boolean;
  /** Shortest delay before the next attempt after a lease has expired, in milliseconds; null = none. */
  readonly leaseGraceMs: number | null;
  /** Where jobs go in the ready list whose lease expired. */
  readonly expired: 'back' | 'front';
}

/** All settings of a queue. */
export interface QueueSettings extends QueueLimits {
  /** Paused since, Unix ms: its jobs are not leased; null = not paused. */
  readonly pausedAtMs: number | null;
  /** Draining since, Unix ms: it accepts no new jobs until it is empty; null = not draining. */
  readonly drainingSinceMs: number | null;
}

/** A change of settings: omitted fields stay unchanged, null removes a limit or all defaults. */
export type SettingsChange = {
  readonly [K in keyof QueueLimits]?: QueueLimits[K] | null;
};
