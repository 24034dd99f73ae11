import type { DependencyFailure, RetryPolicy } from '../../../src/domain/job/extended-job.js';
import type { JobState } from '../../../src/domain/job/states.js';

/** A failed dependency: how it ended, and which job it was. A job published later under the same id is another one. */
export interface Failed {
  readonly outcome: string;
  readonly born: number;
}

/** A job in the model. Times in Unix ms, 0 = none. */
export interface ModelJob {
  readonly id: string;
  /** Position in the order of publishes. */
  readonly born: number;
  readonly publishedMs: number;
  readonly isIdChosen: boolean;
  /**
   * A simple job becomes extended when extended data is stored for it. Crashes and failures are counted only for
   * extended jobs.
   */
  isExtended: boolean;
  /** Published by the native API. */
  readonly isNative: boolean;
  queue: string;
  priority: number;
  body: string;
  tags: readonly string[];
  state: JobState;
  /** When it is due, when its lease ends, or when it ended. */
  atMs: number;
  /** The requested due time, if there was one. */
  dueMs: number;
  expiresMs: number;
  /** As published; and how many are left. */
  tries: number;
  triesLeft: number;
  attempts: number;
  /** The fencing number. */
  lease: number;
  crashes: number;
  failures: number;
  /** Number of its lease whose answer may not have left; and how many of such leases have expired. */
  undelivered: number;
  freeRetries: number;
  /** Its last lease expired as such a one, and it has not been leased since. */
  wasFree: boolean;
  /** The lists by tag have it. */
  isIndexed: boolean;
  /** Group of its failure. */
  group: string | null;
  type: string | null;
  retry: RetryPolicy | undefined;
  /** How long a lease may last in all, if the job says it. */
  readonly maxRunMs: number;
  /** The same of its last lease; when that was granted, or its handler began; and whether it did. */
  runMs: number;
  leasedMs: number;
  hasBegun: boolean;
  /** How long it is kept after its end, in ms; and until when. */
  keepMs: number;
  keptUntilMs: number;

  /** Position in its ready list, among jobs of the same priority. Jobs with equal positions may come in any order. */
  place: number;
  /** Its position comes from a change of its priority: it is ordered by its publish time. */
  isMoved: boolean;
  /** Ready in the list of its type: its order to jobs that are in none is known as far as their times are. */
  isListedByType: boolean;

  readonly concurrencyKey: string | null;
  /** Its lease expired, and when its delay is over it goes to the front. */
  isSentToFront: boolean;
  /** Called from the held jobs of its key; it has a slot from then on. */
  isCalled: boolean;
  /** Position among the held jobs of its key; 0 = it has not met the limit. */
  heldPlace: number;

  readonly unique: { readonly key: string; readonly isWindowed: boolean } | null;
  /** The jobs that it waits for; and the failed ones, with how they ended. */
  readonly needs: Set<string>;
  readonly failed: Map<string, Failed>;
  readonly onFailure: DependencyFailure;
  /** All jobs that it was to run after, and which they were; null = there was none. */
  readonly reads: Map<string, number | null>;

  /** When its lease holder, which was asked to stop, loses the lease. */
  revokedAtMs: number;
  /** Its dependents are to be cancelled with it. */
  cascades: boolean;
}

const LIVE: ReadonlySet<JobState> = new Set(['ready', 'scheduled', 'leased', 'blocked', 'held']);

/** Compares by the bytes of the ids in Redis: chosen ids have a tag in front and come before ULIDs. */
export function hasSmallerId(one: ModelJob, other: ModelJob): boolean {
  return one.isIdChosen === other.isIdChosen ? one.id < other.id : one.isIdChosen;
}

/** Compares by publish time; in the same millisecond, by id. */
export function cameBefore(one: ModelJob, other: ModelJob): boolean {
  const isSameMs = one.publishedMs === other.publishedMs;
  return isSameMs ? hasSmallerId(one, other) : one.publishedMs < other.publishedMs;
}

/** True if it may still run. */
export function isLive({ state }: ModelJob): boolean {
  return LIVE.has(state);
}

/** When the run of its last lease ends; Infinity = its holder has ended it. The engine has the time of the grant in whole milliseconds, and adds one. */
export function runEndMs({ leasedMs, runMs }: ModelJob): number {
  return leasedMs + 1 + runMs;
}

/** True if it has ended and is kept. */
export function isKept({ state }: ModelJob): boolean {
  return state === 'done' || state === 'cancelled';
}

/** The due time that the engine shows: for a simple job that expires before it is due, the expiry. */
export function seenDueMs({ isExtended, expiresMs, atMs }: ModelJob): number {
  return !isExtended && expiresMs > 0 ? Math.min(atMs, expiresMs) : atMs;
}

/** Makes a job extended. */
export function enrich(job: ModelJob): void {
  if (job.state === 'scheduled') job.atMs = seenDueMs(job);
  job.isExtended = true;
}

/** New data makes earlier leases invalid. */
export function replaceBody(job: ModelJob, body: string): void {
  job.body = body;
  if (job.attempts > 0) job.lease++;
}
