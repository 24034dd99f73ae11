import { setTimeout as sleep } from 'node:timers/promises';
import { QueueError } from '../domain/errors.js';
import type { LeasedJob } from '../domain/job/job.js';
import type { QueueEngine } from '../engine/engine.js';
import { ackEach } from '../engine/routing.js';
import { resultOf } from './send/result.js';
import type { PushAnswer } from './send/sender.js';
import type { Verdict } from './send/verdict.js';
import type { Target } from './target.js';

/** Where the jobs of a target are. */
export interface JobPlace {
  readonly engine: QueueEngine;
  readonly namespace: string;
}

/** Leases last as long as the request may take, and this, in milliseconds: for the answer to be recorded. */
export const MORE_MS = 5_000;
/** Longer leases are extended while the request runs, so that a server that dies does not hold the job for ten minutes. */
const LONGEST_LEASE_MS = 60_000;
const HEARTBEAT_MS = 20_000;
/** How often an outcome is sent again while the store does not answer, and the pause before the first time. */
const TRIES = 5;
const PAUSE_MS = 500;

/** Length of the lease of a job of this target, in milliseconds. */
export function leaseMsOf({ timeoutMs }: Target): number {
  return Math.min(timeoutMs, LONGEST_LEASE_MS) + MORE_MS;
}

/**
 * Extends the lease of a job while a long request runs.
 *
 * @param cutting aborted when the lease is lost, or the job is cancelled
 * @returns ends it
 */
export function extendLease(
  { engine, namespace }: JobPlace,
  { id, lease }: LeasedJob,
  { timeoutMs }: Target,
  cutting: AbortController,
): () => void {
  if (timeoutMs <= LONGEST_LEASE_MS) return () => undefined;
  const ttrMs = LONGEST_LEASE_MS + MORE_MS;
  const timer = setInterval(() => {
    engine.native.heartbeat(namespace, { id, lease }, { ttrMs }).then(
      ({ cancelRequested }) => cancelRequested && cutting.abort(),
      (error: unknown) => isLost(error) && cutting.abort(),
    );
  }, HEARTBEAT_MS);
  return () => clearInterval(timer);
}

/**
 * Records the outcome of a request under the lease of its job; nothing if the lease is lost.
 *
 * @param answer null: there was none
 * @throws {QueueError} the store gave no answer, several times: the job comes back when its lease ends
 */
export async function recordOutcome(
  place: JobPlace,
  job: LeasedJob,
  verdict: Verdict,
  answer: PushAnswer | null,
): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      await record(place, job, verdict, answer);
      return;
    } catch (error) {
      // The lease is over: the job belongs to someone else, or is gone.
      if (isLost(error)) return;
      if (i === TRIES) throw error;
      await sleep(PAUSE_MS * i);
    }
  }
}

async function record(
  { engine, namespace }: JobPlace,
  job: LeasedJob,
  verdict: Verdict,
  answer: PushAnswer | null,
): Promise<void> {
  const { id, lease, queue } = job;
  const { action, group, message, delayMs } = verdict;
  const delay = delayMs === undefined ? {} : { delayMs };
  // For as long as its own ttr says: so long the target has to acknowledge it.
  if (action === 'keep') await engine.native.heartbeat(namespace, { id, lease });
  else if (action === 'release')
    // Only answers of the target count, not a breaker or a shutdown.
    await engine.native.release(namespace, { id, lease, ...delay, isCounted: answer !== null });
  else if (action === 'retry') await engine.native.retry(namespace, { id, lease, group, message, ...delay });
  else if (action === 'fail') await engine.native.fail(namespace, { id, lease, group, message });
  else {
    const result = job.extended && answer?.isWhole ? resultOf(answer.body, typeOf(answer)) : null;
    await ackEach(engine, namespace, [{ id, lease, queue, ...(result && { outcome: { result } }) }]);
  }
}

/** A body that came compressed is not unpacked: it is kept as bytes. */
function typeOf({ headers }: PushAnswer): string | undefined {
  return headers.has('content-encoding') ? undefined : headers.get('content-type');
}

function isLost(error: unknown): boolean {
  return error instanceof QueueError && (error.code === 'lease_lost' || error.code === 'job_not_found');
}
