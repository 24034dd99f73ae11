import { type JobState, STATE_NAMES } from './states.js';

/** States by which jobs are listed. A stalled job is leased, ready, scheduled or held; its last lease ended, unsettled. */
export type ListedState = JobState | 'stalled';
export const LISTED_STATES: readonly ListedState[] = [...STATE_NAMES, 'stalled'];

/** Jobs that a list shows: all given conditions must hold. */
export interface JobFilter {
  readonly queue?: string;
  /** One of these states; of an empty list, none. `stalled` only alone. */
  readonly state?: ListedState | readonly ListedState[];
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

/** Dead jobs with the same group of their failure. */
export interface FailureGroup extends NamedCount {
  /** When the first and the last of them died, Unix ms. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The job that died last, and the beginning of its message; null if it cannot be read. */
  readonly sample: { readonly id: string; readonly queue: string; readonly message: string } | null;
  /** How many died in each hour of the last day, UTC; the current hour is the last one. */
  readonly trend: readonly number[];
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
  /** Jobs with a URL of their own are not moved: the caller lacks the permission `push`. */
  readonly withoutPush?: true;
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
