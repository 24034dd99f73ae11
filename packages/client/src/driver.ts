import type { Dependency } from './dependency.js';
import type { NewJob } from './producer/new-job.js';

export type { Dependency } from './dependency.js';

/**
 * What the producer and the worker need of a server. There is one implementation over HTTP; another one may call the
 * engine in its own process. All of them throw `PumphouseError`s with the codes of the v1 API.
 */
export interface JobDriver extends PublishDriver, WorkerDriver {}

export interface PublishDriver {
  /** Stores up to 64 jobs, all or none. @returns the result of each, in order */
  publish(jobs: readonly NewJob[], options: PublishCall): Promise<readonly PublishedJob[]>;
  /** Stores a job and waits until it has ended, or for `waitMs`. */
  publishAndWait(job: NewJob, options: PublishCall & { readonly waitMs: number }): Promise<EndedJob>;
}

export interface PublishCall {
  /** The same call with the same key stores nothing, and returns what the first one returned. */
  readonly idempotencyKey: string;
  /** How long the key counts; the server's own time if it is left out. */
  readonly idempotencyTtlMs?: number | undefined;
  /** The library has made the key for this call: it is known from an earlier attempt only. */
  readonly isOwnKey?: true | undefined;
  /** `memory`, `aof` or `replicated:N`; the pool's own if it is left out. */
  readonly durability?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PublishedJob {
  readonly id: string;
  /** `gone`: the job with the unique key is gone, and the key is still held. */
  readonly state: string;
  /** True: nothing was stored, this is the job that has the unique key. */
  readonly existing: boolean;
  /** True: nothing was stored, this is the answer to an earlier call with the same idempotency key. */
  readonly replayed: boolean;
  /** Ids in `dependsOn` that no job has, which count as done; left out if there are none. */
  readonly missingDependencies?: readonly string[];
}

/** A job that was waited for. */
export interface EndedJob<Result = unknown> {
  readonly id: string;
  /** `done`, `dead` or `cancelled`; null if it is gone. Any other state: it has not ended in time. */
  readonly state: string | null;
  readonly existing: boolean;
  readonly replayed: boolean;
  /** Undefined without one. */
  readonly result: Result | undefined;
  readonly failure: JobFailure | null;
}

export interface JobFailure {
  readonly group: string;
  readonly message: string;
  readonly at: string;
  readonly worker: string | null;
}

/** Operations of a worker. Times of leases are durations: the clocks of server and worker may differ. */
export interface WorkerDriver {
  /** False: a worker that waits for jobs does not keep its process alive. A handler that runs is the program's own matter. */
  readonly keepsProcess?: boolean;
  /**
   * Leases jobs; waits up to `waitMs` for a first one. When `signal` aborts it answers at once: with jobs that were on
   * their way, or with none. Jobs whose answer is lost go back to their queue.
   *
   * @throws {PumphouseError} `format_too_old`, or `invalid_argument` with the field `types`: it cannot lease by type
   */
  lease(request: LeaseRequest): Promise<readonly LeasedJob[]>;
  /**
   * Says that a worker session is alive, and extends all of its leases to `ttrMs` from now, each for itself. One attempt,
   * of `timeoutMs` at most. @throws {PumphouseError} no lease may have been extended
   */
  heartbeatSession(heartbeat: SessionHeartbeat): Promise<SessionAnswer>;
  /** Ends a session: it is not listed any more. Its leases stay as they are. One that has ended is none to end. */
  endSession(session: string): Promise<void>;
  /**
   * The handler of a leased job is to begin: from now on the job's try is used, also if this process dies. Undefined
   * where an answer that has arrived uses it already, as over HTTP.
   */
  begin?(job: LeasedJob): Promise<void>;
  /** Extends one lease to `ttrMs` from now. One attempt, of `timeoutMs` at most. @throws `lease_lost`, `job_not_found` */
  heartbeat(lease: LeaseRef, options: HeartbeatCall): Promise<HeartbeatAnswer>;
  /** Acknowledges up to 1,000 jobs, each for itself. Safe to repeat. @returns the result of each, in order */
  ack(acks: readonly Ack[]): Promise<readonly AckStatus[]>;
  /** Gives a job back; its try is not used. Resolves if it was given back by an earlier attempt. @throws as `heartbeat` */
  release(lease: LeaseRef, options: ReleaseOptions): Promise<void>;
  /** Tries a job again, by its retry policy or after `delayMs`; without a try left it is dead. @throws as `heartbeat` */
  retry(lease: LeaseRef, failure: FailureReport & { readonly delayMs?: number | undefined }): Promise<void>;
  /** Sends a job to the dead letter. @throws as `heartbeat` */
  fail(lease: LeaseRef, failure: FailureReport): Promise<void>;
  /** Writes a line into the timeline of a job. */
  log(id: string, message: string, data?: unknown): Promise<void>;
}

export interface LeaseRequest {
  readonly queues: readonly string[];
  readonly order?: 'ordered' | 'round_robin' | undefined;
  /** 1 … 64: only jobs of these types, null = without one; undefined = any job. */
  readonly types?: readonly (string | null)[] | undefined;
  /** 1 … 100. */
  readonly count: number;
  readonly waitMs: number;
  /**
   * From when a first job is there it waits so long for `min` jobs, and then leases those that are there. Until then it
   * leases none. Undefined: it leases at once what is there.
   */
  readonly lingerMs?: number | undefined;
  /** 1 … `count`, which is the default; with `lingerMs` only. */
  readonly min?: number | undefined;
  readonly ttrMs: number;
  /** The id of the worker's session, or any name of a worker; undefined = none. */
  readonly worker?: string | undefined;
  readonly signal: AbortSignal;
}

/** A lease by its number, which proves that it is the job's present one. */
export interface LeaseRef {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
}

export interface LeasedJob extends LeaseRef {
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  /** How often it may be leased in all, and after this lease. */
  readonly tries: number;
  readonly triesLeft: number;
  /** Leases so far, with this one; leases that ran out; failures that workers reported. */
  readonly attempts: number;
  readonly crashes: number;
  readonly failures: number;
  /** How long this lease may last in all; left out without a limit. */
  readonly maxRunMs?: number;
  /** ISO 8601. */
  readonly publishedAt: string | null;
  readonly expiresAt: string | null;
  /** As a former worker left it. */
  readonly progress: unknown;
  readonly contentType: string;
  /** The payload: parsed if it is JSON, else its bytes. */
  readonly data: unknown;
  /** The payload as text: JSON as it was sent, to the last digit; bytes decoded as UTF-8. */
  readonly text: string;
  readonly bytes: Uint8Array;
  /** The jobs that it was published to run after, in the order in which it names them; left out if there are none. */
  readonly dependencies?: readonly Dependency[];
  /** Why the payload cannot be read: the worker fails such a job, without a handler. */
  readonly unreadable?: string;
}

export interface SessionHeartbeat {
  /** Its id, which is the `worker` of its lease requests. */
  readonly session: string;
  readonly info: SessionInfo;
  /** All leases that it has; of more than 1,000 a part. */
  readonly leases: readonly LeaseRef[];
  /** Number of all leases that it has, if `leases` is a part of them. */
  readonly jobsAtHand?: number | undefined;
  readonly ttrMs: number;
  readonly timeoutMs: number;
}

/** What a worker's process says of itself. */
export interface SessionInfo {
  readonly name: string;
  readonly host?: string;
  readonly pid?: number;
  /** The version of this library. */
  readonly version: string;
  readonly language: string;
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly startedAt: Date;
}

export interface SessionAnswer {
  /** One for each lease, in order. */
  readonly leases: readonly ExtendedLease[];
  /** The session was asked to lease nothing more. */
  readonly quiet: boolean;
  /** The session was asked to shut down. */
  readonly stop: boolean;
}

export interface ExtendedLease extends HeartbeatAnswer {
  readonly status: 'extended' | 'lease_lost' | 'not_found';
}

export interface HeartbeatCall {
  readonly ttrMs: number;
  readonly timeoutMs: number;
  /** Undefined = as it was. */
  readonly progress?: unknown;
  /** The handler begins: `maxRunMs` counts from now on, once in each lease. */
  readonly begin?: { readonly maxRunMs?: number | undefined } | undefined;
}

export interface HeartbeatAnswer {
  /** A client wants the job cancelled. */
  readonly cancelRequested: boolean;
}

/** A payload in the form that is stored. */
export type EncodedPayload =
  | { readonly json: string }
  | { readonly bytes: Uint8Array; readonly contentType?: string | undefined };

export interface Ack extends LeaseRef {
  /** Kept with the job for its retention. */
  readonly result?: EncodedPayload | undefined;
  /** Where the job goes now, instead of being done. */
  readonly next?: NextQueue | undefined;
  /** Replaces the data of a job that is kept or goes on. */
  readonly data?: EncodedPayload | undefined;
}

export interface NextQueue {
  readonly queue: string;
  readonly delayMs?: number | undefined;
  readonly dependsOn?: readonly string[] | undefined;
  /** `refuse`: `missing_dependency` if no job has one of these ids. */
  readonly onMissingDependency?: 'ignore' | 'refuse' | undefined;
}

/**
 * `acked`, `moved`, `not_found`, `lease_lost`, or why the job cannot go to its next queue. With `store_full`, or a status
 * of a newer server, it still may.
 */
export type AckStatus = string;

export interface ReleaseOptions {
  /** Undefined = at once, or with `no_handler` as long as the server says. */
  readonly delayMs?: number | undefined;
  /** The worker has no handler for the job. */
  readonly reason?: 'no_handler' | undefined;
  /** The id of the worker's session. */
  readonly worker?: string | undefined;
}

export interface FailureReport {
  readonly group: string;
  readonly message: string;
}
