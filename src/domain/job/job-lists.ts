import type { JobState } from './states.js';

/** Jobs that a list shows: all given conditions must hold. */
export interface JobFilter {
  readonly queue?: string;
  /** One of these states; of an empty list, none. */
  readonly state?: JobState | readonly JobState[];
  readonly tag?: string;
  readonly type?: string;
  /** Failure group of dead jobs. */
  readonly group?: string;
  /** Worker that has them leased, or had the lease last if it expired. */
  readonly worker?: string;
  readonly tracked?: boolean;
  /** Attributes that the job must have. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Part of the failure's message, case-insensitive. */
  readonly text?: string;
}

/** Conditions for dead jobs. */
export interface DeadFilter extends Omit<JobFilter, 'state' | 'worker' | 'tracked'> {
  /** Time of death, Unix ms; both inclusive. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** Position and size of a page. */
export interface PageRequest {
  /** Maximum number of items. */
  readonly limit: number;
  /** The `cursor` of the previous page; omitted for the first page. */
  readonly cursor?: string | undefined;
}

/** Values of `JobsRequest.order`. */
export const LIST_ORDERS = ['oldest', 'newest'] as const;

/** Position, size and order of a page of jobs. */
export interface JobsRequest extends PageRequest {
  /** `newest`: the whole list from its end. Default: `oldest`. A cursor belongs to its order. */
  readonly order?: (typeof LIST_ORDERS)[number];
}

/** One page of a list. It may have fewer items than requested, even none, although the list continues. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Null: end of the list. */
  readonly cursor: string | null;
}

/** A name, and the number of jobs that have it. */
export interface NamedCount {
  readonly name: string;
  readonly jobs: number;
}

/** A worker that leases jobs under a name, or sends the heartbeats of a session. */
export interface WorkerFacts {
  readonly name: string;
  /** Unix ms. */
  readonly seenAtMs: number;
  readonly leased: number;
  /** Jobs whose lease expired, and that have not been leased since. */
  readonly stalled: number;
  /** Null for a worker that is known by name only. */
  readonly session: WorkerSession | null;
}

/** What a worker's process says of itself. */
export interface WorkerInfo {
  /** Its name, which other sessions may have too. */
  readonly name: string;
  readonly host?: string;
  readonly pid?: number;
  readonly version?: string;
  readonly language?: string;
  /** The queues that it leases from. */
  readonly queues?: readonly string[];
  readonly concurrency?: number;
  /** Unix ms, by its own clock; default: the time of its first heartbeat. */
  readonly startedAtMs?: number;
}

/** Requests to a session, which it learns from its next heartbeat. */
export interface SessionFlags {
  /** It is to lease nothing more. */
  readonly quiet: boolean;
  /** It is to shut down. */
  readonly stop: boolean;
}

/** A running worker process, as its last heartbeat described it. */
export interface WorkerSession extends SessionFlags {
  readonly info: WorkerInfo;
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Jobs that it had then. */
  readonly jobsAtHand: number;
  /** It has sent no heartbeat for its `ttrMs`. */
  readonly isLost: boolean;
}

/** A session as lists show it: what is not known is null, and of a worker without a session all of it null or false. */
export function shownSession(session: WorkerSession | null) {
  const { name, host, pid, version, language, queues, concurrency }: Partial<WorkerInfo> =
    session?.info ?? {};
  return {
    displayName: name ?? null,
    host: host ?? null,
    pid: pid ?? null,
    version: version ?? null,
    language: language ?? null,
    queues: queues ?? null,
    concurrency: concurrency ?? null,
    jobsAtHand: session?.jobsAtHand ?? null,
    startedAtMs: session?.startedAtMs ?? null,
    heartbeatAtMs: session?.heartbeatAtMs ?? null,
    quiet: session?.quiet ?? false,
    stop: session?.stop ?? false,
    lost: session?.isLost ?? false,
  };
}

/** Heartbeat of a session. */
export interface SessionHeartbeat {
  /** How long its leases last from now, in milliseconds. */
  readonly ttrMs: number;
  readonly leases: readonly { readonly id: string; readonly lease: number }[];
  /** Number of all jobs that the session has, if `leases` is a part of its leases. */
  readonly jobsAtHand?: number;
  /** Required for the first heartbeat. */
  readonly info?: WorkerInfo;
  /**
   * Names the queues that the caller may use; empty = all. A session belongs to the scope of its first heartbeat: for a caller with another
   * one there is no such session, unless it may use all queues.
   */
  readonly scope?: string;
}

/** Result of a heartbeat for one job. */
export interface ExtendedLease {
  readonly id: string;
  readonly status: 'extended' | 'lease_lost' | 'not_found';
  /** Of a lost lease: the present state of the job; null = it is gone. */
  readonly state?: JobState | null;
  readonly cancelRequested: boolean;
}

/** Result of a session's heartbeat. */
export interface SessionHeartbeatResult extends SessionFlags {
  /** When extended leases end, Unix ms; sooner if the ttl of the job ends before. */
  readonly leaseEndsAtMs: number;
  /** One for each lease, in order. */
  readonly jobs: readonly ExtendedLease[];
}

/** A tracked job that is deleted. */
export interface Trace {
  readonly id: string;
  /** Unix ms. */
  readonly goneAtMs: number;
}

/** Options for respawning dead jobs. */
export interface Respawn {
  /** Milliseconds from now, 0 = no expiry. */
  readonly ttlMs: number;
  /**
   * `reset`: as many as at publish, and its failures are forgotten; `keep`: what it had left, at least 1; or a number.
   */
  readonly tries: 'reset' | 'keep' | number;
  /** Target queue; if omitted, their own. */
  readonly queue?: string;
}

/** Result of a step over dead jobs. */
export interface DeadStep {
  /** Jobs that matched: counted, respawned or deleted. */
  readonly done: number;
  /** Null: there are no more. Otherwise the next step starts here; jobs that die meanwhile are skipped. */
  readonly cursor: string | null;
}

/** The data of a job in a list. */
export interface ListedData {
  readonly body: Buffer;
  readonly contentType: string | null;
}
