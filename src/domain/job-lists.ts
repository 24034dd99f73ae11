import type { JobState } from './states.js';

/** Which jobs a list shows: all that is given must hold. */
export interface JobFilter {
  readonly queue?: string;
  readonly state?: JobState;
  readonly tag?: string;
  readonly type?: string;
  /** The failure group of dead jobs. */
  readonly group?: string;
  /** Who has them leased, or had them last when the lease ran out. */
  readonly worker?: string;
  readonly tracked?: boolean;
  /** Each of these must be an attribute of the job. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Part of the failure's message, in letters of either case. */
  readonly text?: string;
}

/** Which dead jobs. */
export interface DeadFilter extends Omit<JobFilter, 'state' | 'worker' | 'tracked'> {
  /** When they died, Unix ms, both inclusive. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** Where to go on with a list, and with what was asked. */
export interface PageRequest {
  /** Items at most. */
  readonly limit: number;
  /** The `cursor` of the page before; left out for the first page. */
  readonly cursor?: string | undefined;
}

/** One page of a list. It may have fewer items than were asked for, even none, though the list goes on. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Null: the list is at its end. */
  readonly cursor: string | null;
}

/** A name, and how many jobs have it. */
export interface NamedCount {
  readonly name: string;
  readonly jobs: number;
}

/** Somebody who leases jobs under a name. */
export interface WorkerFacts {
  readonly name: string;
  /** Unix ms. */
  readonly seenAtMs: number;
  readonly leased: number;
  /** Jobs whose lease ran out, and that nobody has leased since. */
  readonly stalled: number;
}

/** A tracked job that is there no more. */
export interface Trace {
  readonly id: string;
  /** Unix ms. */
  readonly goneAtMs: number;
}

/** How dead jobs come back. */
export interface Respawn {
  /** Milliseconds from now, 0 = for ever. */
  readonly ttlMs: number;
  /** `reset`: as many as it was published with, its failures forgotten; `keep`: what it had left, 1 at least; or a number. */
  readonly tries: 'reset' | 'keep' | number;
  /** Where they go; left out, where they were. */
  readonly queue?: string;
}

/** What a step over dead jobs did. */
export interface DeadStep {
  /** Jobs that matched: counted, brought back or deleted. */
  readonly done: number;
  /** Null: there are no more. Else it goes on from here; jobs that die meanwhile are not met. */
  readonly cursor: string | null;
}
