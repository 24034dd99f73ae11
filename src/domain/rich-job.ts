import type { JobState } from './states.js';

/** When a job is tried again after it was given up. Delays in milliseconds; `n` counts what went wrong so far, from 1. */
export type RetryPolicy = (
  | { readonly kind: 'none' }
  /** Always the same. */
  | { readonly kind: 'fixed'; readonly delayMs: number }
  /** `n · delayMs`. */
  | { readonly kind: 'linear'; readonly delayMs: number; readonly maxMs?: number }
  /** `delayMs · factor^(n-1)`. */
  | {
      readonly kind: 'exponential';
      readonly delayMs: number;
      /** 2 by default. */
      readonly factor?: number;
      readonly maxMs?: number;
      /** Which part of the delay is drawn by lot, 0 … 1. */
      readonly jitter?: number;
    }
  /** One after the other; the last one again from there on. */
  | { readonly kind: 'list'; readonly delaysMs: readonly number[] }
) & {
  /** Failure groups that go to the dead letter at once. */
  readonly nonRetryable?: readonly string[];
};

/** What becomes of a job when one that it waits for dies, is cancelled or expires. */
export type DependencyFailure = 'block' | 'ignore' | 'fail' | 'cancel';

/** What a publish does when a live job holds its unique key. */
export interface UniqueKey {
  readonly key: string;
  /** `reject`: nothing is stored; `existing`: the holder's id is answered; `replace`: the holder goes, if nobody has it leased; `debounce`: the holder waits anew. */
  readonly mode: 'reject' | 'existing' | 'replace' | 'debounce';
  /** Milliseconds that the key is held, from publish, even if the job ends sooner or lives longer; 0 or left out: as long as the job lives. */
  readonly windowMs?: number;
  /** `replace` and `debounce` are as `reject` where the holder is in another queue. */
  readonly isOwnQueueOnly?: boolean;
}

/** A job of the native API as a producer hands it over. What is left out is the queue's default. */
export interface NewRichJob {
  readonly queue: string;
  /** Chosen by the caller; left out, the engine mints a ULID. */
  readonly id?: string;
  readonly body: Buffer;
  /** Left out: JSON. */
  readonly contentType?: string;
  readonly delayMs?: number;
  /** When it is due, Unix ms; instead of `delayMs`. */
  readonly dueMs?: number;
  /** 0 = for ever. */
  readonly ttlMs?: number;
  readonly tries?: number;
  /** How long a lease of it lasts, unless the consumer says. */
  readonly ttrMs?: number;
  /** -128 … 127, lower runs sooner; 0 by default. */
  readonly priority?: number;
  readonly type?: string;
  readonly tags?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
  /** Ids of jobs that must be done first. Those that do not exist count as done. */
  readonly dependsOn?: readonly string[];
  readonly onDependencyFailure?: DependencyFailure;
  readonly retry?: RetryPolicy;
  readonly unique?: UniqueKey;
  readonly concurrencyKey?: string;
  /** Milliseconds that it is kept when it is done, with its result; 0 = not at all. */
  readonly retentionMs?: number;
  /** Its timeline is recorded from the start, whatever else it has. */
  readonly history?: boolean;
}

/** What became of a publish: `existing` = another job holds the unique key, this is its id. */
export interface PublishedJob {
  readonly id: string;
  /** `gone`: a job that held the key, and holds it still for its window. */
  readonly state: JobState | 'gone';
  readonly existing: boolean;
}

/** What went wrong with a job last. */
export interface Failure {
  readonly group: string;
  readonly message: string;
  /** Unix ms. */
  readonly atMs: number;
  /** Who had it; null if nobody gave a name. */
  readonly worker: string | null;
}

/** One entry of a job's timeline. */
export interface TimelineEntry {
  readonly what: string;
  /** Unix ms. */
  readonly atMs: number;
  readonly [field: string]: unknown;
}

/** What lists show of a job; times in Unix ms, null where they do not apply. */
export interface JobSummary {
  readonly id: string;
  readonly queue: string;
  readonly state: JobState;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  readonly triesLeft: number;
  readonly attempts: number;
  /** Leases that ran out, and failures that a worker told of. */
  readonly crashes: number;
  readonly failures: number;
  readonly lease: number;
  /** Unix ms, null where it does not apply. */
  readonly publishedAtMs: number | null;
  readonly dueAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly leaseEndsAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly worker: string | null;
  readonly progress: unknown;
  readonly failure: Failure | null;
  /** Somebody tracks it. */
  readonly tracked: boolean;
}

/** All that is known of a job. */
export interface JobDetails extends JobSummary {
  readonly body: Buffer;
  readonly contentType: string | null;
  readonly cancelRequested: boolean;
  readonly result: { readonly body: Buffer; readonly contentType: string | null } | null;
  readonly dependsOn: readonly string[];
  /** Those that it waits for in vain, and how they ended: `died`, `cancelled`, `expired`, … */
  readonly failedDependencies: Readonly<Record<string, string>>;
  /** Up to 100 of them. */
  readonly dependents: readonly string[];
  readonly onDependencyFailure: DependencyFailure;
  readonly uniqueKey: string | null;
  readonly concurrencyKey: string | null;
  readonly spawnedFrom: string | null;
  readonly retry: RetryPolicy | null;
  readonly timeline: readonly TimelineEntry[];
}

/** A lease that its owner speaks of. `lease` is the fencing number. */
export interface LeaseRef {
  readonly id: string;
  readonly lease: number;
}

/** A job whose work is done. */
export interface Completion extends LeaseRef {
  /** The job must be in it; left out, in any. */
  readonly queue?: string;
  /** Kept with the job for its retention. */
  readonly result?: { readonly body: Buffer; readonly contentType: string };
  /** Kept for so many milliseconds, whatever the job says. */
  readonly retentionMs?: number;
  /** The same job goes on in another queue, its history kept and its tries as they were at first. */
  readonly next?: {
    readonly queue: string;
    readonly delayMs?: number;
    readonly dependsOn?: readonly string[];
  };
}

/** A job that goes back, its try unspent; to the front of its line, or after `delayMs`. */
export interface Release extends LeaseRef {
  readonly delayMs?: number;
}

/** A job that went wrong. */
export interface GivenUp extends LeaseRef {
  /** Names the kind of failure: 1 … 128 characters. */
  readonly group: string;
  readonly message: string;
  readonly delayMs?: number;
}

/** What an owner hears when it says that it is still at it. */
export interface HeartbeatNews {
  /** Unix ms. */
  readonly leaseEndsAtMs: number;
  readonly cancelRequested: boolean;
}
