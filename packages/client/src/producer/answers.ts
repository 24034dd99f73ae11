import type { Dependency } from '../dependency.js';
import type { JobFailure } from '../driver.js';
import type { Optional } from '../optional.js';
import type { JobOptions, RetryPolicy } from './new-job.js';

/* What the API answers, in the form of this library. Times are ISO 8601 in UTC. Later servers may add fields. */

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the list goes on; null at its end. A page may be short, or empty, before that. */
  readonly nextCursor: string | null;
}

export interface PageOptions {
  /** Items of a page, 1 … 1,000; 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export type JobState = 'ready' | 'scheduled' | 'leased' | 'dead' | 'blocked' | 'held' | 'done' | 'cancelled';

export interface JobSummary {
  readonly id: string;
  readonly queue: string;
  readonly state: JobState;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  readonly tries: number;
  readonly triesLeft: number;
  readonly attempts: number;
  readonly crashes: number;
  readonly failures: number;
  readonly publishedAt: string | null;
  readonly dueAt: string | null;
  readonly endedAt: string | null;
  readonly expiresAt: string | null;
  readonly leaseEndsAt: string | null;
  readonly leasedBy: string | null;
  readonly progress: unknown;
  readonly failure: JobFailure | null;
  readonly tracked: boolean;
  /** With `fields: ['data']`: parsed JSON, or bytes. */
  readonly data?: unknown;
  readonly contentType?: string;
  readonly dataOmitted?: boolean;
}

export interface JobDetails extends JobSummary {
  readonly data: unknown;
  readonly contentType: string;
  readonly cancelRequested: boolean;
  readonly result: { readonly data: unknown; readonly contentType: string } | null;
  /** The dependencies that have not ended; all of them, with their results. */
  readonly dependsOn: readonly string[];
  readonly dependencies: readonly Dependency[];
  readonly failedDependencies: Readonly<Record<string, string>>;
  readonly dependents: readonly string[];
  readonly onDependencyFailure: string;
  readonly uniqueKey: string | null;
  readonly concurrencyKey: string | null;
  readonly fairKey: string | null;
  readonly spawnedFrom: string | null;
  /** These five are null if neither the publish nor a default of the queue set them. */
  readonly retry: RetryPolicy | null;
  readonly ttrMs: number | null;
  readonly maxRunMs: number | null;
  readonly retentionMs: number | null;
  readonly leaseGraceMs: number | null;
  /** Releases in a row by workers that have no handler for it; null: none, or a handler began since. */
  readonly noHandler: NoHandler | null;
  readonly timeline: readonly TimelineEntry[];
}

export interface NoHandler {
  readonly count: number;
  /** Of the last one; null if it gave no name. */
  readonly worker: string | null;
  readonly at: string;
}

export interface TimelineEntry {
  readonly what: string;
  readonly at: string;
  readonly [field: string]: unknown;
}

/** States by which jobs are listed. `stalled`: their last lease ended unsettled, and none has leased them since. */
export type ListedState = JobState | 'stalled';

export interface JobFilter extends PageOptions {
  readonly queue?: string | undefined;
  /** `stalled` only alone. */
  readonly state?: readonly ListedState[] | undefined;
  readonly tag?: string | undefined;
  readonly type?: string | undefined;
  readonly group?: string | undefined;
  readonly worker?: string | undefined;
  readonly order?: 'oldest' | 'newest' | undefined;
  /** Beside it only `fields`. */
  readonly ids?: readonly string[] | undefined;
  readonly fields?: readonly 'data'[] | undefined;
}

/** Changes of a job that waits; what is left out stays. */
export interface JobChange extends Pick<
  JobOptions,
  'delayMs' | 'ttlMs' | 'tries' | 'priority' | 'tags' | 'dependsOn' | 'onMissingDependency' | 'retry'
> {
  readonly dueAt?: Date | string | undefined;
  readonly queue?: string | undefined;
  readonly type?: string | undefined;
  readonly data?: unknown;
  readonly json?: string | undefined;
  readonly contentType?: string | undefined;
}

export interface ChangedJob {
  readonly id: string;
  /** Null: it is gone, because of a failed dependency. */
  readonly state: JobState | null;
  readonly dueAt: string | null;
  /** Ids in `dependsOn` that no job has, which count as done; left out if there are none. */
  readonly missingDependencies?: readonly string[];
}

export interface CancelledJob {
  readonly id: string;
  readonly outcome: 'cancelled' | 'already_cancelled' | 'requested';
  readonly revokedAt: string | null;
}

export interface Rate {
  readonly rate: number;
  readonly periodMs: number;
  readonly burst?: number | undefined;
}

export interface QueueDefaults {
  readonly ttlMs?: number | undefined;
  readonly tries?: number | undefined;
  readonly ttrMs?: number | undefined;
  readonly maxRunMs?: number | undefined;
  readonly priority?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly retentionMs?: number | undefined;
}

export interface QueueSettings {
  readonly maxRunning: number | null;
  readonly maxRunningPerKey: number | null;
  readonly rate: Rate | null;
  readonly ratePerKey: Rate | null;
  readonly defaults: QueueDefaults | null;
  readonly maxKept: number | null;
  readonly indexTags: boolean | null;
  /** Shortest delay before the next attempt of a job whose lease has expired. */
  readonly leaseGraceMs: number | null;
  /** Where jobs go in the ready list whose lease has expired. */
  readonly expired: 'back' | 'front' | null;
  /** Fair keys are served in turns: true, or weights by key and a `default` for all others. False: in one order. */
  readonly fair:
    | boolean
    | { readonly weights?: Readonly<Record<string, number>>; readonly default?: number }
    | null;
  /** Of jobs with the same concurrency key. `strict`: none is leased before all that were ready earlier have ended. */
  readonly order: 'strict' | null;
  /** In a strict order, after a job has died: its key goes on, or waits until it is respawned or deleted. */
  readonly onDead: 'continue' | 'block' | null;
  /** JSON paths of the data that accounts below the role `admin` do not see; null = none. */
  readonly redact: readonly string[] | null;
  /** The target that servers with `push.enabled` send its jobs to; null = none. */
  readonly push: { readonly target: string; readonly maxRunning?: number | undefined } | null;
}

/** Some jobs of a queue: of a type, null = jobs without one; with a fair key; or with a concurrency key. One of the three. */
export interface SomeJobs {
  readonly type?: string | null | undefined;
  readonly fairKey?: string | undefined;
  readonly concurrencyKey?: string | undefined;
}

/** What is paused, why, and for how long; without a type and a key the whole queue. */
export interface PauseOptions extends SomeJobs {
  readonly note?: string | undefined;
  readonly forMs?: number | undefined;
}

/** A pause of some jobs of a queue. */
export interface JobsPause extends SomeJobs {
  readonly pausedAt: string;
  readonly pausedBy: string | null;
  readonly note: string | null;
  /** Null = when they are resumed. */
  readonly endsAt: string | null;
}

export interface QueueDetails extends QueueSettings {
  readonly queue: string;
  readonly exists: boolean;
  readonly length: number;
  readonly work: number;
  /** Worker sessions that are not lost and lease from it. */
  readonly workers: number;
  readonly counts: Readonly<
    Record<
      | 'ready'
      | 'scheduled'
      | 'blocked'
      | 'stuck'
      | 'held'
      | 'leased'
      | 'stalled'
      | 'dead'
      | 'done'
      | 'cancelled'
      | 'recurring',
      number
    >
  >;
  readonly pausedAt: string | null;
  /** The description of the token that paused it; null = not paused, or not known. */
  readonly pausedBy: string | null;
  readonly pauseNote: string | null;
  /** When the pause ends by itself; null = when it is resumed. */
  readonly pauseEndsAt: string | null;
  /** Pauses of some of its jobs. */
  readonly pauses: readonly JobsPause[];
  readonly drainingAt: string | null;
  /** Types that have ready jobs, those first whose jobs come first. Only of `get`, from the first lease by type on. */
  readonly types?: readonly QueueType[];
  readonly created?: boolean;
}

/** Ready jobs of a type, and the lease requests that take them. */
export interface QueueType {
  /** Null: jobs without a type. */
  readonly type: string | null;
  readonly ready: number;
  /** Since when the first of them is ready; null = not known. */
  readonly firstReadyAt: string | null;
  /** When a lease request took such jobs last; null = none is known. */
  readonly lastRequestAt: string | null;
}

/** Why a job does not run, or why a queue gives no jobs. */
export interface Explanation {
  /** Its name: `no_worker`, `paused`, `blocked`, … The guide to jobs that do not run lists all. */
  readonly cause: string;
  /** One sentence that names it. */
  readonly message: string;
  /** What the sentence is made from; it depends on the cause. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Null: not known. */
  readonly since: string | null;
  /** When it ends or is tried again; null = nothing is planned. */
  readonly nextAt: string | null;
  /** What one can do: as a call, and on the command line if it has a command for it. */
  readonly remedies: readonly {
    readonly about: string;
    readonly call: string;
    readonly command: string | null;
  }[];
  /** What holds too, and would be next. */
  readonly also: readonly { readonly cause: string; readonly message: string }[];
}

export interface FairKeys {
  readonly keys: readonly {
    readonly key: string;
    readonly ready: number;
    /** When the oldest of them was published, as far as the server knows. */
    readonly oldestPublishedAt: string | null;
  }[];
  /** False: the queue has more keys than the server counts. */
  readonly complete: boolean;
}

export interface PurgedQueue {
  readonly jobs: Readonly<Partial<Record<JobState, number>>>;
  readonly dryRun: boolean;
  /** False: call it again. */
  readonly complete: boolean;
}

/** Which dead jobs; all that is given must hold. */
export interface DeadFilter {
  readonly queue?: string | undefined;
  readonly group?: string | undefined;
  readonly type?: string | undefined;
  readonly tag?: string | undefined;
  /** A part of the failure's message. */
  readonly text?: string | undefined;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  readonly from?: Date | string | undefined;
  readonly to?: Date | string | undefined;
}

export interface DeadSelection {
  /** `{}` = all. */
  readonly filter?: DeadFilter | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Only counts them. */
  readonly dryRun?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface RespawnOptions extends DeadSelection {
  readonly tries?: number | undefined;
  readonly keepTries?: boolean | undefined;
  readonly ttlMs?: number | undefined;
}

export interface DeadOutcome {
  readonly jobs: number;
  readonly dryRun: boolean;
  /** Not null: there is more to do, call again with this as `cursor`. */
  readonly nextCursor: string | null;
}

/** Dead jobs with the same group of their failure. */
export interface FailureGroup {
  readonly name: string;
  /** How many. */
  readonly jobs: number;
  /** When the first and the last of them died. */
  readonly firstAt: string;
  readonly lastAt: string;
  /** The job that died last, and the beginning of its error message; null if it cannot be read. */
  readonly sample: { readonly id: string; readonly queue: string; readonly message: string } | null;
  /** How many died in each hour of the last day, UTC: 24 numbers, that of the current hour last. */
  readonly trend: readonly number[];
}

/** What becomes of a pushed job after an answer. */
export type TargetAction = 'ack' | 'retry' | 'release' | 'fail';

/** When the circuit breakers of a target open. */
/** A free name of the namespace, with its value. */
export interface Variable {
  readonly name: string;
  readonly value: unknown;
}

export interface BreakerSettings {
  /** Requests in a row without an answer: 1 … 1,000; 5. */
  readonly failures: number;
  /** Or this share of failures of the last minute: 1 … 100; 50. */
  readonly failurePercent: number;
  /** For `failurePercent`, the least requests of the last minute: 1 … 10,000; 10. */
  readonly minRequests: number;
  /** How long it is open, doubled after each trial that fails: 1,000 … 86,400,000; 30,000. */
  readonly openMs: number;
  /** The longest time that it is open: 1,000 … 86,400,000; 300,000. */
  readonly maxOpenMs: number;
}

/** A target of HTTP push; what is left out is the default, or stays. */
export interface TargetFields {
  /** `https://…`; `http://…` if the server has `push.allow_http`. */
  readonly url?: string | undefined;
  /** Origins of which a job may name a URL: `https://shop.example`; none. */
  readonly origins?: readonly string[] | undefined;
  /** `POST` */
  readonly method?: 'POST' | 'PUT' | 'PATCH' | undefined;
  /** Never shown again. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** 1,000 … 600,000; 30,000. */
  readonly timeoutMs?: number | undefined;
  /** `raw`: the bytes of the job. `job`: a JSON object with its fields. */
  readonly body?: 'raw' | 'job' | undefined;
  /** `response`: a 2xx acknowledges. `later`: after a 202 the target does it, by a signed URL. */
  readonly ack?: 'response' | 'later' | undefined;
  readonly sign?: 'standard' | 'none' | undefined;
  /** By status (`404`) or class (`4xx`). */
  readonly onStatus?: Readonly<Record<string, TargetAction>> | undefined;
  /** The longest delay that a `Retry-After` can cause; an hour. */
  readonly maxRetryAfterMs?: number | undefined;
  /** Null: none. */
  readonly breaker?: Optional<BreakerSettings> | null | undefined;
  /** `whsec_…`; the server makes one. Never shown again. */
  readonly secret?: string | undefined;
}

export interface TargetBreaker {
  readonly state: 'closed' | 'open' | 'half_open' | 'off';
  readonly openUntil: string | null;
  readonly openings: number;
}

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly origins: readonly string[];
  readonly method: string;
  /** Their values are not shown. */
  readonly headerNames: readonly string[];
  readonly timeoutMs: number;
  readonly body: string;
  readonly ack: string;
  readonly sign: string;
  readonly onStatus: Readonly<Record<string, TargetAction>>;
  readonly maxRetryAfterMs: number;
  /** The queues that are pushed to it. */
  readonly queues: readonly string[];
  /** Open: no jobs are sent until `openUntil`, because requests failed. */
  readonly breaker: TargetBreaker & { readonly settings: BreakerSettings | null };
  /** Those of its origins that are open. */
  readonly originBreakers: readonly (TargetBreaker & { readonly origin: string })[];
  readonly pausedAt: string | null;
  /** `operator`: by a call. `gone`: it answered 410. */
  readonly pauseReason: 'operator' | 'gone' | null;
  readonly oldSecretUntil: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Only in the answer of the call that made or set it. */
  readonly secret?: string;
}

/** What a target answered to a test request. */
export interface TargetTest {
  /** Null: no answer. */
  readonly status: number | null;
  /** Why there was no answer: `timeout`, `dns`, `tls`, `connect`, `blocked`, `protocol`, `aborted`. */
  readonly problem: string | null;
  readonly message: string | null;
  readonly tookMs: number;
  /** Its first 1 KiB. */
  readonly body: string;
  /** What would become of a job. */
  readonly action: TargetAction;
  readonly signed: boolean;
}

/** By interval. */
export interface IntervalFields {
  readonly everyMs: number;
  readonly offsetMs?: number | undefined;
  readonly firstAt?: Date | string | undefined;
}

/** By a cron expression of five fields, or six with the seconds first, in the local time of a time zone. */
export interface CronFields {
  readonly cron: string;
  /** `Europe/Berlin`, `UTC` … */
  readonly tz: string;
  /** Each job is made up to so much later than its slot. */
  readonly jitterMs?: number | undefined;
  readonly startAt?: Date | string | undefined;
  readonly endAt?: Date | string | undefined;
}

export type ScheduleFields = IntervalFields | CronFields;

export interface RecurringFields {
  readonly schedule: ScheduleFields;
  readonly job: Omit<JobOptions, 'id' | 'delayMs' | 'runAt'> & {
    readonly queue: string;
    readonly type?: string | undefined;
    readonly data?: unknown;
    readonly json?: string | undefined;
    readonly contentType?: string | undefined;
  };
  readonly maxCatchUp?: number | undefined;
  readonly catchUpMs?: number | null | undefined;
  readonly overlap?: 'allow' | 'skip' | 'replace' | undefined;
  readonly paused?: boolean | undefined;
  readonly note?: string | null | undefined;
}

/** A slot to come. */
export interface UpcomingSlot {
  readonly at: string;
  /** By cron: the local time, with its offset. */
  readonly local: string | null;
  /** A change of the clock leaves out the local time that the expression states: this is the end of the gap. */
  readonly moved: boolean;
}

export interface RecurringJob {
  readonly id: string;
  readonly schedule:
    /** `offsetMs`: the given one; missing if `firstAt` was given. */
    | { readonly everyMs: number; readonly firstAt: string; readonly offsetMs?: number }
    | {
        readonly cron: string;
        readonly tz: string;
        readonly jitterMs: number;
        readonly startAt?: string;
        readonly endAt?: string;
      };
  readonly job: Readonly<Record<string, unknown>> & { readonly queue: string };
  readonly maxCatchUp: number;
  readonly catchUpMs: number | null;
  readonly overlap: string;
  readonly paused: boolean;
  readonly note: string | null;
  readonly made: number;
  readonly skipped: number;
  readonly lastSkip: { readonly at: string; readonly reason: string } | null;
  readonly nextAt: string | null;
  readonly lastAt: string | null;
  readonly createdAt: string;
}

export interface Durations {
  readonly count: number;
  readonly meanMs: number;
  readonly stdMs: number;
  readonly histogram: readonly {
    readonly bin: string;
    readonly fromMs: number;
    readonly toMs: number | null;
    readonly count: number;
  }[];
}

export interface DayStats {
  readonly queue: string | null;
  readonly day: string;
  readonly waits: Durations;
  readonly runs: Durations;
  readonly failures: number;
  readonly retries: number;
  readonly stillDead: number | null;
}

/** A worker session; or, with null in what only a session has, a worker that is known by its name only. */
export interface WorkerSession {
  /** Of a session its id. */
  readonly name: string;
  /** When it was heard of last. */
  readonly seenAt: string;
  /** Jobs with a `type`, a result or another option that it has leased, and those of them whose lease has ended. */
  readonly leased: number;
  readonly stalled: number;
  readonly displayName: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly version: string | null;
  readonly language: string | null;
  readonly queues: readonly string[] | null;
  readonly concurrency: number | null;
  /** Leases that its last heartbeat named. */
  readonly jobsAtHand: number | null;
  readonly startedAt: string | null;
  readonly heartbeatAt: string | null;
  /** It was asked to lease nothing more, to shut down. */
  readonly quiet: boolean;
  readonly stop: boolean;
  /** It has sent no heartbeat for as long as its leases last. */
  readonly lost: boolean;
}

/** An event of a namespace. `missed`: some could not be given; it has no other field. Later servers have more names. */
export interface JobEvent {
  readonly event: string;
  readonly at?: string;
  readonly queue?: string;
  /** Of the job; missing where a queue is meant. */
  readonly id?: string;
  readonly type?: string;
  readonly tags?: readonly string[];
  readonly worker?: string;
  readonly [fact: string]: unknown;
}
