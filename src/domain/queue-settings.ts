import type { RetryPolicy } from './rich-job.js';

/** How often something may begin: `rate` times in `periodMs`, and `burst` at once after a pause. */
export interface Rate {
  readonly rate: number;
  readonly periodMs: number;
  readonly burst: number;
}

/** What a native publish or lease that does not say is given in this queue. Milliseconds. */
export interface QueueDefaults {
  /** 0 = for ever. */
  readonly ttlMs?: number;
  readonly tries?: number;
  readonly ttrMs?: number;
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  readonly retentionMs?: number;
}

/** What an operator may say of a queue; null = no limit. */
export interface QueueLimits {
  /** Jobs of the queue that may be leased at once, on all servers together. */
  readonly maxRunning: number | null;
  /** The same for its jobs that share a concurrency key. */
  readonly maxRunningPerKey: number | null;
  /** How often leases of its jobs begin. */
  readonly rate: Rate | null;
  /** The same for its jobs that share a concurrency key. */
  readonly ratePerKey: Rate | null;
  readonly defaults: QueueDefaults;
  /** Done and cancelled jobs that are kept, each for its retention: no more than this, the newest ones. */
  readonly maxKept: number | null;
}

/** All that is set of a queue. */
export interface QueueSettings extends QueueLimits {
  /** Nobody gets its jobs since then, Unix ms; null = they do. */
  readonly pausedAtMs: number | null;
  /** It takes no new jobs since then, until it is empty, Unix ms; null = it does. */
  readonly drainingSinceMs: number | null;
}

/** A change of settings: what is left out stays, null takes a limit or all defaults away. */
export type SettingsChange = {
  readonly [K in keyof QueueLimits]?: QueueLimits[K] | null;
};
