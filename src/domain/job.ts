import type { JobState } from './states.js';

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
}

/** What a consumer asks for. */
export interface ReserveRequest {
  /** In order of priority: the second is looked at when the first is empty. */
  readonly queues: readonly string[];
  /** 1 … 100 jobs. */
  readonly count: number;
  /** Milliseconds until the lease runs out. */
  readonly ttrMs: number;
  /** Milliseconds to wait for a first job, 0 = do not wait. */
  readonly waitMs: number;
  /** Aborted when the consumer has gone: its wait ends, and what was leased for it is undone. */
  readonly signal?: AbortSignal;
}

/** How many jobs of a queue are in which state. */
export interface QueueCounts {
  readonly queue: string;
  readonly ready: number;
  readonly scheduled: number;
  readonly leased: number;
  readonly dead: number;
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
  readonly state: JobState;
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
