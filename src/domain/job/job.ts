import type { Durability } from '../durability.js';
import type { DependencyResult } from './dependency.js';
import type { SimpleState } from './states.js';

/** A job as a producer publishes it. */
export interface NewJob {
  /** Given by the caller; if omitted, the engine mints a ULID. */
  readonly id?: string;
  readonly body: Buffer;
  /** Milliseconds before it can be leased; 0 = at once. */
  readonly delayMs: number;
  /** Instead of a delay: when it can be leased, Unix ms of Redis's clock. */
  readonly dueMs?: number;
  /** How long it may exist from publish, in milliseconds; 0 = no expiry. */
  readonly ttlMs: number;
  /** Maximum number of leases, 1 … 65,535. */
  readonly tries: number;
  readonly attributes?: Readonly<Record<string, string>>;
  /** The fields that an extended job has besides its header, as they are stored. Only with a delay and a ttl of 0. */
  readonly extended?: Readonly<Record<string, string>>;
  /**
   * Of a job of the native API: what it leaves to the defaults of its queue. The simple path refuses it with an
   * `ExtendedPathError` if it cannot apply them.
   */
  readonly native?: LeftOut;
  /**
   * Of each job of a native call over several queues or with given ids: the jobs are stored all or none. The simple path
   * refuses the call with an `ExtendedPathError` if it cannot store one of them.
   */
  readonly whole?: WholeCall;
}

/** What a job of such a call says besides. */
export interface WholeCall {
  /** The job's own queue. */
  readonly queue: string;
}

/** Options that a job does not say. `ttlMs` and `tries` of the job count if the queue does not say them either. */
export interface LeftOut {
  readonly ttl: boolean;
  readonly tries: boolean;
  readonly retention: boolean;
}

/** Options of a publish, besides the job. */
export interface PublishOptions {
  /**
   * 1 … 255 visible ASCII characters. While the key is kept, a publish with the same key to the same queue stores
   * nothing and returns the same ids again, whatever happened to the jobs.
   */
  readonly idempotencyKey?: string;
  /** How long the key is kept, in milliseconds; by default the engine's `idempotencyTtlMs`. */
  readonly idempotencyTtlMs?: number;
  /** Alternative to an idempotency key: the record of a native call that has one (`nativeIdempotencyRecordOf`). */
  readonly idempotencyRecord?: IdempotencyRecord;
  /** Is called before an answer that an earlier request with the same key got: nothing is stored. */
  readonly onReplay?: () => void;
  /** Default: the pool's own. */
  readonly durability?: Durability;
  /**
   * The ids from the error of an earlier attempt, one per job: jobs that it has stored count as stored now. Jobs that
   * were done in between are stored again. Ignored if there is an idempotency key, which has a stronger guarantee.
   */
  readonly retryOf?: readonly string[];
}

/** Identifies the record of a publish with an idempotency key, and the request that it is valid for. */
export interface IdempotencyRecord {
  readonly digest: Buffer;
  readonly fingerprint: Buffer;
  /** True if the record has the result of each job, not only its id. */
  readonly isNative: boolean;
}

/** A job as it is stored. */
export interface StoredJob {
  readonly id: string;
  readonly queue: string;
  readonly body: Buffer;
  /** Null if it was published without any. */
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly triesLeft: number;
  /** Leases granted so far, including the current one. */
  readonly attempts: number;
  /** Milliseconds until it expires, 0 = never. */
  readonly ttlLeftMs: number;
  /** Milliseconds since it was published. */
  readonly elapsedMs: number;
}

/** A job leased to one consumer, until `leaseEndsAtMs`. */
export interface LeasedJob extends StoredJob {
  /** How often it may be leased in all: as published, or as a later change set it. Free retries do not count. */
  readonly tries: number;
  /** The fencing number: it increases with every lease of the job, and never decreases. */
  readonly lease: number;
  /** Unix ms on Redis's clock. */
  readonly leaseEndsAtMs: number;
  /** Unix ms; null for a given id if the time is unknown. */
  readonly publishedAtMs: number | null;
  /** Unix ms; null = never. */
  readonly expiresAtMs: number | null;
  /** Unix ms on Redis's clock; undefined = leased on the simple path, where no limit counts it. */
  readonly leasedAtMs?: number | undefined;
  /** Shared by all jobs of a call with `confirms`; undefined if no confirmation is expected. */
  receipt?: Receipt | undefined;
  /** Further details from the extended path; undefined for a job leased on the simple path. */
  readonly extended?: ExtendedFacts;
}

/** A lease, by which it is taken back. */
export type LeaseOfJob = Pick<LeasedJob, 'id' | 'lease' | 'receipt' | 'leasedAtMs'>;

/** What a lease on the extended path returns besides. */
export interface ExtendedFacts {
  readonly priority: number;
  readonly type: string | null;
  readonly tags: readonly string[];
  /** Null = JSON. */
  readonly contentType: string | null;
  /** Expired leases, and failures reported by workers. */
  readonly crashes: number;
  readonly failures: number;
  /** Releases that were counted: `Release.isCounted`. */
  readonly released: number;
  /** JSON, as the last lease holder left it. */
  readonly progress: string | null;
  /** How long it was ready before this lease, in milliseconds; null if unknown. */
  readonly waitedMs: number | null;
  /** How long this lease may last in all, in milliseconds; null = as long as there are heartbeats. */
  readonly maxRunMs: number | null;
  /** The jobs that it was published to run after, in the order in which they were named; undefined = none. */
  readonly dependencies?: readonly DependencyResult[];
}

/**
 * Confirms that the jobs of one call have reached their consumer. Until then the delivery log in Redis has an entry for
 * them.
 */
export interface Receipt {
  /** Name of the record of these leases in the delivery log. */
  readonly record: string;
  /** To be called once per call, unless its jobs are undone. */
  arrived(): void;
}

/** A lease request that waits for more jobs than the first one. Until it is answered, no job is leased. */
export interface Linger {
  /** How long it waits for them, in milliseconds, from when it finds a first job. Then it leases what is there. */
  readonly ms: number;
  /** 1 … `count`: so many jobs that can be leased together end it before. */
  readonly min: number;
}

/** Options of a lease request. */
export interface LeaseRequest {
  /** In order of priority: the second one is tried if the first is empty. */
  readonly queues: readonly string[];
  /** 1 … 100 jobs. */
  readonly count: number;
  /**
   * Milliseconds until the lease expires. Left out, and 0 on the extended path: the job's own ttr, else the default of its
   * queue, else the setting of the namespace.
   */
  readonly ttrMs?: number;
  /** Milliseconds to wait for the first job, 0 = do not wait. */
  readonly waitMs: number;
  /** Left out: the first jobs that are there are leased. */
  readonly linger?: Linger;
  /** Aborted when the consumer disconnects: its wait ends, and leases made for it are undone. */
  readonly signal?: AbortSignal;
  /**
   * The caller confirms with the receipt that the jobs have arrived; otherwise they count as arrived when the call
   * returns.
   */
  readonly confirms?: boolean;
  /**
   * Name of the worker: 1 … 255 characters, stored with the jobs; "" = no name, but the request still uses the extended
   * path.
   */
  readonly worker?: string;
  /** Only jobs of these types, null = without one; left out: any job. */
  readonly types?: readonly (string | null)[];
  /** Takes one job from each queue in turn, instead of emptying the first queue first; only with `worker`. */
  readonly inTurns?: boolean;
  /**
   * The jobs go to the target of their queue, which has several origins: jobs without a URL of their own are held while the
   * breaker of the target's URL is open.
   */
  readonly isPushed?: boolean;
  /** The server leases for itself, as for a push: it does not count as a waiting long poll, nor as a worker. */
  readonly isInternal?: boolean;
}

/** Number of jobs of a queue per state. */
export interface QueueCounts {
  readonly queue: string;
  readonly ready: number;
  readonly scheduled: number;
  readonly leased: number;
  readonly dead: number;
  /** `blocked`: waiting for other jobs; `held`: waiting for a limit of their key. */
  readonly blocked: number;
  /** Blocked jobs with a failed dependency. */
  readonly stuck: number;
  readonly held: number;
  /** Jobs that are kept after their end. */
  readonly done: number;
  readonly cancelled: number;
  /** Milliseconds since the oldest ready job was published: the oldest of the first jobs of up to 8 priorities; 0 if none is ready. */
  readonly oldestReadyAgeMs: number;
  /** When that job was published, Unix ms; 0 if none is ready. */
  readonly oldestReadyAtMs: number;
}

/** The head of a queue's dead-letter queue. */
export interface DeadLetterHead {
  /** The job that died first; null if there are no dead jobs. */
  readonly id: string | null;
  readonly size: number;
}

/** A job that is done. */
export interface Ack {
  /** If omitted, the queue that the job is in. */
  readonly queue?: string;
  readonly id: string;
  /** The lease number; if omitted, any lease of the job. */
  readonly lease?: number;
  /** Makes its result, if the job is an extended one by now: only such a job may keep it. */
  readonly lateResult?: () => JobResult | null;
}

/** What a job keeps of its work. */
export interface JobResult {
  readonly body: Buffer;
  readonly contentType: string;
}

/** Result of an acknowledgement. `lease_lost`: its lease is not the job's current one; nothing has changed. */
export type AckResult = 'acked' | 'not_found' | 'lease_lost';

/** A job from another store, in the state that it has there. */
export interface ImportedJob {
  /** Its id, which is kept. */
  readonly id: string;
  /** Its name in the store that it comes from: each name is imported once. */
  readonly source: string;
  readonly queue: string;
  readonly body: Buffer;
  readonly state: SimpleState;
  /** Leases that it may still get. */
  readonly triesLeft: number;
  /** Leases granted so far; at least 1 if it is leased. */
  readonly attempts: number;
  /** Milliseconds until it expires, 0 = never. */
  readonly ttlLeftMs: number;
  /** When it is due or its lease expires, Unix ms; ignored for ready and dead jobs. */
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, string>> | null;
}

/** Result of an import. `known`: imported before; `taken`: another queue has a job with this id, nothing was stored. */
export type ImportResult = 'stored' | 'known' | 'taken';
