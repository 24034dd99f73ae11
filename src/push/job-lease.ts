import type { JobResult, LeasedJob } from '../domain/job/job.js';
import type { PoolEngine } from '../engine/pool-engine.js';
import { ackEach } from '../engine/settle/ack-each.js';
import { isLost, storeOutcome } from './lease-loop.js';
import { resultOf } from './send/result.js';
import type { PushAnswer } from './send/sender.js';
import type { Verdict } from './send/verdict.js';
import type { Target } from '../engine/queues/stored-targets.js';

/** Where the jobs of a target are. */
export interface JobPlace {
  readonly engine: PoolEngine;
  readonly namespace: string;
}

/** Leases last as long as the request may take, and this, in milliseconds: for the answer to be recorded. */
export const MORE_MS = 5_000;
/** Longer leases are extended while the request runs, so that a server that dies does not hold the job for ten minutes. */
const LONGEST_LEASE_MS = 60_000;
const HEARTBEAT_MS = 20_000;

/** Length of the lease of a job of this target, in milliseconds. */
export function leaseMsOf({ timeoutMs }: Target): number {
  return Math.min(timeoutMs, LONGEST_LEASE_MS) + MORE_MS;
}

/** A request is cut off so long after the end of its run: by then its lease is lost, whatever the outcome is. */
const AFTER_RUN_MS = 100;

/**
 * Extends the lease of a job while a long request runs, and ends a request at the `max_run_ms` of its job.
 *
 * @param cutting aborted when the lease is lost, or the job is cancelled
 * @returns ends it
 */
export function watchLease(
  place: JobPlace,
  job: LeasedJob,
  target: Target,
  cutting: AbortController,
): () => void {
  const ends = [extendLease(place, job, target, cutting), cutAtRunEnd(job, target, cutting)];
  return () => ends.forEach((end) => end());
}

function cutAtRunEnd({ extended }: LeasedJob, { timeoutMs }: Target, cutting: AbortController): () => void {
  const runMs = extended?.maxRunMs ?? Infinity;
  if (runMs >= timeoutMs) return () => undefined;
  // guard: push-ends-with-its-run
  const timer = setTimeout(() => cutting.abort(), runMs + AFTER_RUN_MS);
  return () => clearTimeout(timer);
}

function extendLease(
  { engine, namespace }: JobPlace,
  { id, lease }: LeasedJob,
  { timeoutMs }: Target,
  cutting: AbortController,
): () => void {
  if (timeoutMs <= LONGEST_LEASE_MS) return () => undefined;
  const ttrMs = LONGEST_LEASE_MS + MORE_MS;
  const timer = setInterval(() => {
    engine.settle.heartbeat(namespace, { id, lease }, { ttrMs }).then(
      ({ cancelRequested }) => cancelRequested && cutting.abort(),
      (error: unknown) => isLost(error) && cutting.abort(),
    );
  }, HEARTBEAT_MS);
  return () => clearInterval(timer);
}

/**
 * Records the outcome of a request under the lease of its job. See `storeOutcome`.
 *
 * @param answer null: there was none
 */
export function recordOutcome(
  place: JobPlace,
  job: LeasedJob,
  verdict: Verdict,
  answer: PushAnswer | null,
): Promise<void> {
  return storeOutcome(() => record(place, job, verdict, answer));
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
  if (action === 'keep') await engine.settle.heartbeat(namespace, { id, lease }, { isOwnTtr: true });
  else if (action === 'release')
    // Only answers of the target count, not a breaker or a shutdown.
    await engine.settle.release(namespace, { id, lease, ...delay, isCounted: answer !== null });
  else if (action === 'retry') await engine.settle.retry(namespace, { id, lease, group, message, ...delay });
  else if (action === 'fail') await engine.settle.fail(namespace, { id, lease, group, message });
  else {
    const resultOfAnswer = (): JobResult | null =>
      answer?.isWhole ? resultOf(answer.body, typeOf(answer)) : null;
    // A simple job keeps none, unless it became an extended one during the request: then others may depend on it.
    const result = job.extended ? resultOfAnswer() : null;
    const lateResult = job.extended ? {} : { lateResult: resultOfAnswer };
    await ackEach(engine, namespace, [
      { id, lease, queue, ...lateResult, ...(result && { outcome: { result } }) },
    ]);
  }
}

/** A body that came compressed is not unpacked: it is kept as bytes. */
function typeOf({ headers }: PushAnswer): string | undefined {
  return headers.has('content-encoding') ? undefined : headers.get('content-type');
}
