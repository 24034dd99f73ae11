import type { Durability } from './durability.js';
import type { PlainState } from './states.js';

/** A job as a producer hands it over. */
export interface NewJob {
  /** Chosen by the caller; left out, the engine mints a ULID. */
  readonly id?: string;
  readonly body: Buffer;
  /** Milliseconds before it can be leased, 0 = at once. */
  readonly delayMs: number;
  /** Milliseconds that it may exist, from publish; 0 = for ever. */
  readonly ttlMs: number;
  /** Leases that it may get, 1 … 65,535. */
  readonly tries: number;
  readonly attributes?: Readonly<Record<string, string>>;
  /** It may say less than it wants: where the queue has defaults, it is refused with a `FullLaneError`. */
  readonly isNative?: true;
}

/** How a publish is to be treated, beside what it stores. */
export interface PublishOptions {
  /**
   * 1 … 255 visible ASCII characters. A publish with the same one to the same queue, for as long as the engine's `idempotencyTtlMs`,
   * stores nothing and answers the same ids again, whatever became of the jobs.
   */
  readonly idempotencyKey?: string;
  /** Instead of an idempotency key: the note of a native call that came with one (`nativeNoteOf`). */
  readonly note?: OnceNote;
  /** Left out, the pool's own. */
  readonly durability?: Durability;
  /**
   * The ids that an earlier attempt was refused with, as many as there are jobs: what of it is stored counts as stored now. Ids of jobs
   * that were done in between make them again. Not looked at beside an idempotency key, which says the same and more.
   */
  readonly retryOf?: readonly string[];
}

/** Under what a publish with an idempotency key is remembered, and what must be the same when the key comes again. */
export interface OnceNote {
  readonly digest: Buffer;
  readonly fingerprint: Buffer;
  /** It tells what became of each job, and not only the ids. */
  readonly isNative: boolean;
}

/** What a namespace may hold at most; 0 = as much as it likes. */
export interface Quotas {
  readonly queues: number;
  /** Jobs of one queue in whatever state, dead ones too. */
  readonly jobsPerQueue: number;
  /** Bytes of the bodies of all its jobs. */
  readonly bytes: number;
}

/** A job as it is stored. */
export interface StoredJob {
  readonly id: string;
  readonly queue: string;
  readonly body: Buffer;
  /** Null when it was published without any. */
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly triesLeft: number;
  /** Leases granted so far, the present one included. */
  readonly attempts: number;
  /** Milliseconds until it expires, 0 = never. */
  readonly ttlLeftMs: number;
  /** Milliseconds since it was published. */
  readonly elapsedMs: number;
}

/** A job given to one consumer, until `leaseEndsAtMs`. */
export interface LeasedJob extends StoredJob {
  /** The fencing number: it grows with every lease of the job, and never goes back. */
  readonly lease: number;
  /** Unix ms on Redis's clock. */
  readonly leaseEndsAtMs: number;
  /** One for all jobs of a call that `confirms`; undefined when nobody waits for it. */
  receipt?: Receipt | undefined;
  /** What the full lane knows besides; undefined for a job that came the plain way. */
  readonly rich?: RichFacts;
}

/** What a consumer is told of a job of the full lane. */
export interface RichFacts {
  readonly priority: number;
  readonly type: string | null;
  readonly tags: readonly string[];
  /** Null = JSON. */
  readonly contentType: string | null;
  /** Leases that ran out, and failures that a worker told of. */
  readonly crashes: number;
  readonly failures: number;
  /** JSON, as the last owner left it. */
  readonly progress: string | null;
  /** Unix ms; null for an id of the caller's own that nothing else is known of. */
  readonly publishedAtMs: number | null;
  /** Unix ms; null = never. */
  readonly expiresAtMs: number | null;
  /** Milliseconds that it was ready before this lease; null if that is not known. */
  readonly waitedMs: number | null;
}

/** Hears that the jobs of one call have reached their consumer. Until then a record of them is kept in Redis. */
export interface Receipt {
  /** To be called once for each call, unless its jobs are undone. */
  arrived(): void;
}

/** What a consumer asks for. */
export interface ReserveRequest {
  /** In order of priority: the second is looked at when the first is empty. */
  readonly queues: readonly string[];
  /** 1 … 100 jobs. */
  readonly count: number;
  /** Milliseconds until the lease runs out; 0, with `worker`: the job's own. */
  readonly ttrMs: number;
  /** Milliseconds to wait for a first job, 0 = do not wait. */
  readonly waitMs: number;
  /** Aborted when the consumer has gone: its wait ends, and what was leased for it is undone. */
  readonly signal?: AbortSignal;
  /** The caller has the receipt hear of it when the jobs have arrived; without it they have when the call returns. */
  readonly confirms?: boolean;
  /** Who asks: 1 … 255 characters, noted on the jobs; "" = nameless, but still the full lane's way of asking. */
  readonly worker?: string;
  /** One job from each queue in turn, not the first queue first; only with `worker`. */
  readonly inTurns?: boolean;
}

/** How many jobs of a queue are in which state. */
export interface QueueCounts {
  readonly queue: string;
  readonly ready: number;
  readonly scheduled: number;
  readonly leased: number;
  readonly dead: number;
  /** Waiting for other jobs, or for a limit of their key; done or cancelled, and kept. */
  readonly blocked: number;
  /** Those of the blocked ones for which something that they wait for has failed. */
  readonly stuck: number;
  readonly held: number;
  readonly ended: number;
  /** Milliseconds since the job at the head of the line was published; 0 when none is ready. */
  readonly oldestReadyAgeMs: number;
}

/** The head of a queue's dead letter. */
export interface DeadLetterHead {
  /** The job that died first; null when nobody is dead. */
  readonly id: string | null;
  readonly size: number;
}

/** A job whose work is done. */
export interface Ack {
  readonly queue: string;
  readonly id: string;
  /** The lease it was done under; left out, whatever lease the job has. */
  readonly lease?: number;
}

/** What became of an acknowledgement: `lease_lost` = its lease is not the job's present one, nothing has changed. */
export type AckResult = 'acked' | 'not_found' | 'lease_lost';

/** A job that comes from another store, in the state that it has there. */
export interface ImportedJob {
  /** Its id, which it keeps. */
  readonly id: string;
  /** Names it in the store that it comes from: it comes once by this name. */
  readonly source: string;
  readonly queue: string;
  readonly body: Buffer;
  readonly state: PlainState;
  /** Leases that it may still get. */
  readonly triesLeft: number;
  /** Leases granted so far; at least 1 if it is leased. */
  readonly attempts: number;
  /** Milliseconds until it expires, 0 = never. */
  readonly ttlLeftMs: number;
  /** When it is due, or its lease ends, Unix ms; of no meaning for ready and dead ones. */
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, string>> | null;
}

/** What became of a job that was imported: `known` = it came before; `taken` = another queue has a job with its id, nothing was stored. */
export type ImportResult = 'stored' | 'known' | 'taken';
