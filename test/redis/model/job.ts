import type { DependencyFailure, RetryPolicy } from '../../../src/domain/rich-job.js';
import type { JobState } from '../../../src/domain/states.js';

/** A job as the model knows it. Times in Unix ms, 0 = none. */
export interface ModelJob {
  readonly id: string;
  /** Its number in the order of publishes. */
  readonly born: number;
  /** Plain jobs become rich ones when something is noted on them; only of those crashes and failures are counted. */
  isRich: boolean;
  queue: string;
  priority: number;
  body: string;
  tags: readonly string[];
  state: JobState;
  /** When it is due, its lease ends, or since when it has ended. */
  atMs: number;
  /** When it was to be due, as far as somebody said. */
  dueMs: number;
  expiresMs: number;
  /** As published, and how many are left. */
  tries: number;
  triesLeft: number;
  attempts: number;
  /** The fencing number. */
  lease: number;
  crashes: number;
  failures: number;
  /** Of its failure. */
  group: string | null;
  readonly retry: RetryPolicy | undefined;
  /** How long it is kept when it has ended, ms; and until when it is. */
  keepMs: number;
  keptUntilMs: number;

  /** In its line, among those of its priority: jobs with equal places may come in any order. */
  place: number;
  /** It came to its place by a change of its priority: where it stands follows from when it was published. */
  isMoved: boolean;

  readonly concurrencyKey: string | null;
  /** Was called from its key's own line, and has a slot from then on. */
  isCalled: boolean;
  /** In its key's own line; 0 = it has not met the limit. */
  heldPlace: number;

  readonly unique: { readonly key: string; readonly isWindowed: boolean } | null;
  /** What it waits for; and what it waits for in vain → how that ended. */
  readonly needs: Set<string>;
  readonly failed: Map<string, string>;
  readonly onFailure: DependencyFailure;

  /** Its owner was told to stop, and loses it then. */
  revokedAtMs: number;
  /** Those that depend on it are to be cancelled with it. */
  cascades: boolean;
}

const LIVE: ReadonlySet<JobState> = new Set(['ready', 'scheduled', 'leased', 'blocked', 'held']);

/** It may still run. */
export function isLive({ state }: ModelJob): boolean {
  return LIVE.has(state);
}

/** It is kept though it is over. */
export function isKept({ state }: ModelJob): boolean {
  return state === 'done' || state === 'cancelled';
}

/** When it is seen to be due: a plain job that is to expire sooner, then. */
export function seenDueMs({ isRich, expiresMs, atMs }: ModelJob): number {
  return !isRich && expiresMs > 0 ? Math.min(atMs, expiresMs) : atMs;
}

/** Something is to be noted on it. */
export function enrich(job: ModelJob): void {
  if (job.state === 'scheduled') job.atMs = seenDueMs(job);
  job.isRich = true;
}

/** With another body a job is another's to do: whoever had it leased once comes too late now. */
export function replaceBody(job: ModelJob, body: string): void {
  job.body = body;
  if (job.attempts > 0) job.lease++;
}
