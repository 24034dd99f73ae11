import type { Ack, AckResult, JobResult } from './job.js';
import type { JobState } from './states.js';

/** When a job is tried again after a failure. Delays in milliseconds; `n` counts the failures so far, from 1. */
export type RetryPolicy = (
  | { readonly kind: 'none' }
  /** Constant delay. */
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
      /** Fraction of the delay that is randomised, 0 … 1. */
      readonly jitter?: number;
    }
  /** Each delay in turn; then the last one repeatedly. */
  | { readonly kind: 'list'; readonly delaysMs: readonly number[] }
) & {
  /** Failure groups that go to the dead-letter queue at once. */
  readonly nonRetryable?: readonly string[];
};

/** What happens to a job when one of its dependencies dies, is cancelled or expires. */
export type DependencyFailure = 'block' | 'ignore' | 'fail' | 'cancel';

/**
 * Begins the unique keys that the server makes itself: those of recurring jobs (lua/modules/extended/unique_keys.lua). No caller may choose one, or it
 * could hold up what it may not see: keys in requests have no control character.
 */
export const SERVER_KEY = '\u0001';

/** What a publish does when a live job holds its unique key. */
export interface UniqueKey {
  readonly key: string;
  /**
   * `reject`: nothing is stored; `existing`: returns the holder's id; `replace`: removes the holder, unless it is
   * leased; `debounce`: restarts the holder's delay.
   */
  readonly mode: 'reject' | 'existing' | 'replace' | 'debounce';
  /**
   * How long the key is held from publish, in milliseconds, even if the job ends sooner or lives longer; 0 or omitted:
   * as long as the job lives.
   */
  readonly windowMs?: number;
  /** If the holder is in another queue, every mode acts as `reject`. */
  readonly isOwnQueueOnly?: boolean;
  /** `debounce` changes no job with a URL of its own: the caller lacks the permission `push`. */
  readonly withoutPush?: true;
}

/** Result of a publish. `existing`: another job holds the unique key, and this is its id. */
export interface PublishedJob {
  readonly id: string;
  /** `gone`: that job is deleted, but still holds the key for its window. */
  readonly state: JobState | 'gone';
  readonly existing: boolean;
  /** Ids in `dependsOn` that no job has; left out if there are none. An answer from an idempotency record never has them. */
  readonly missingDependencies?: readonly string[];
}

/** The failure group of a job whose last lease expired. A simple job dies in no other way, and stores no group. */
export const LEASE_EXPIRED = 'lease_expired';

/** The last failure of a job. */
export interface Failure {
  readonly group: string;
  readonly message: string;
  /** Unix ms. */
  readonly atMs: number;
  /** Name of the worker that had the lease; null if it gave none. */
  readonly worker: string | null;
}

/** One entry of a job's timeline. */
export interface TimelineEntry {
  readonly what: string;
  /** Unix ms. */
  readonly atMs: number;
  readonly [field: string]: unknown;
}

/** What lists return for a job; times in Unix ms, null where they do not apply. */
export interface JobSummary {
  readonly id: string;
  readonly queue: string;
  readonly state: JobState;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  /** As in `LeasedJob`. */
  readonly tries: number;
  readonly triesLeft: number;
  readonly attempts: number;
  /** Expired leases, and failures reported by workers. */
  readonly crashes: number;
  readonly failures: number;
  readonly lease: number;
  /** Unix ms; null where it does not apply. */
  readonly publishedAtMs: number | null;
  readonly dueAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly leaseEndsAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly worker: string | null;
  readonly progress: unknown;
  readonly failure: Failure | null;
  /** True if a client tracks it. */
  readonly tracked: boolean;
}

/** Where a job is. */
export interface JobPlace {
  readonly queue: string;
  readonly state: JobState;
}

/** A lease that a lease operation refers to. `lease` is the fencing number. */
export interface LeaseRef {
  readonly id: string;
  readonly lease: number;
}

/** A job that is done. */
export interface Completion extends LeaseRef {
  /** The queue that the job must be in; if omitted, any. */
  readonly queue?: string;
  /** Kept with the job for its retention. */
  readonly result?: JobResult;
  /** Replaces the data of a job that is kept, or moves to another queue. */
  readonly data?: NewData;
  /** Retention in milliseconds, instead of the job's own. */
  readonly retentionMs?: number;
  /** Moves the job to another queue, with its history and with the tries that it had at first. */
  readonly next?: {
    readonly queue: string;
    readonly delayMs?: number;
    readonly dependsOn?: readonly string[];
    /** `refuse`: `missing_dependency` if there is no job with one of the ids; default `ignore`: it counts as done. */
    readonly onMissingDependency?: 'ignore' | 'refuse';
  };
  /** New data and another queue are refused for a job with a URL of its own: the caller lacks the permission `push`. */
  readonly withoutPush?: true;
  /** As for a job that is published, of the dependencies of `next`. */
  readonly resultsOf?: readonly string[];
}

/** An acknowledgement, with an outcome if the job has one; without one it is the same as an ack of lmstfy's API. */
export interface ExtendedAck extends Ack {
  readonly outcome?: Pick<Completion, 'result' | 'data' | 'next' | 'withoutPush' | 'resultsOf'>;
}

/**
 * The result of an acknowledgement. `moved`: the job is in its next queue. `namespace_full`: its new data goes beyond the
 * quota on bytes. `too_many_queues`, `queue_full`: a quota has no room in the next queue. `store_full`: Redis has no room for longer data, or for dependencies. `verb_missing`: the caller may not change a job with a
 * URL of its own. The last three concern the dependencies of the next step.
 */
export type AckStatus =
  | AckResult
  | 'moved'
  | 'namespace_full'
  | 'too_many_queues'
  | 'queue_full'
  | 'store_full'
  | 'verb_missing'
  | 'dependency_cycle'
  | 'too_many_dependencies'
  | 'missing_dependency';

/** Why a job is released; jobs are released for other reasons without naming them. */
export type ReleaseReason = (typeof RELEASE_REASONS)[number];
export const RELEASE_REASONS = ['no_handler'] as const;

/** Releases of a job in a row by workers that have no handler for it: until a handler begins. */
export interface NoHandler {
  readonly count: number;
  /** Name of the worker that released it last; null if it gave none. */
  readonly worker: string | null;
  /** Unix ms. */
  readonly atMs: number;
}

/** A job that is returned without using a try; to the front of its ready list, or after `delayMs`. */
export interface Release extends LeaseRef {
  readonly delayMs?: number;
  /** The job remembers how often it was released so (`ExtendedFacts.released`), until it is respawned or moves on. */
  readonly isCounted?: boolean;
  /**
   * `no_handler`: the worker has no handler for the job. The job counts such releases in a row (`NoHandler`). Without
   * `delayMs` they take 1 s, twice as long each time, 60 s at most. The job keeps its place for the first three.
   */
  readonly reason?: ReleaseReason;
  /** Name of the worker, for a job whose lease does not have it. */
  readonly worker?: string;
}

/** Data in place of those that a job has. */
export interface NewData {
  readonly body: Buffer;
  /** Omitted: plain JSON. */
  readonly contentType?: string;
}

/** A job that failed. */
export interface JobFailure extends LeaseRef {
  /** Names the kind of failure: 1 … 128 characters. */
  readonly group: string;
  readonly message: string;
  readonly delayMs?: number;
  /** Replaces the data of the job. */
  readonly data?: NewData;
  /** New data is refused for a job with a URL of its own: the caller lacks the permission `push`. */
  readonly withoutPush?: true;
}

/** What a heartbeat says. */
export interface HeartbeatOptions {
  /** Duration of the lease from now; default: `heartbeat_ms` of the namespace, or else the job's own. */
  readonly ttrMs?: number;
  /** True: the job's own, whatever `heartbeat_ms` of the namespace says. */
  readonly isOwnTtr?: boolean;
  /** JSON, or its `JsonText`. */
  readonly progress?: unknown;
  readonly data?: Buffer;
  /** True: the handler begins. The first such heartbeat of a lease restarts its run. */
  readonly begin?: boolean;
  /** How long the handler may run, from `begin` on; ignored without it. */
  readonly maxRunMs?: number;
}

/** Response to a heartbeat. */
export interface HeartbeatResult {
  /** Unix ms. */
  readonly leaseEndsAtMs: number;
  readonly cancelRequested: boolean;
}
