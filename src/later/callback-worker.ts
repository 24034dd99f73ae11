import type { LeasedJob } from '../domain/job/job.js';
import type { Log } from '../domain/log.js';
import type { Engine } from '../engine/engine.js';
import { LeaseLoop, storeOutcome } from '../push/lease-loop.js';
import type { Sender } from '../push/send/sender.js';
import { SendError } from '../push/send/send-error.js';
import { callbackUrlOf } from './callback-url.js';
import { callbackBody, laterJobOf, type LaterJob } from './later-job.js';
import { failureText, MAX_ANSWER_BYTES, releaseDelayMs, replyOf, retryDelayMs } from './outcome.js';

export interface CallbackWorkerParts {
  readonly engine: Engine;
  readonly namespace: string;
  readonly queue: string;
  /** Origins that callbacks may go to. */
  readonly allow: readonly string[];
  readonly sender: Sender;
  readonly log: Log;
  /** Callbacks under way at most. */
  readonly maxInFlight: number;
  /** True once the server lets no client wait any more. */
  readonly isClosing: () => boolean;
}

/** Time limit of a callback, from the connection to the last byte of the answer, in milliseconds. */
const TIMEOUT_MS = 3_000;
/** Leases last this much longer, in milliseconds: for the answer to be recorded. */
const MORE_MS = 5_000;
/** How long one lease request waits for a job, in milliseconds. */
const WAIT_MS = 20_000;
/** Jobs of one lease request. */
const MOST_JOBS = 32;
/** How often code 101 can release a job; from then on it is a failure. */
const MOST_RELEASES = 100;

/** What becomes of a job. */
type Outcome =
  | { readonly action: 'ack' }
  | {
      readonly action: 'release';
      readonly delayMs: number;
      /** By code 101: such releases are counted in the store. */
      readonly isCounted: boolean;
    }
  | {
      readonly action: 'retry' | 'fail';
      readonly group: string;
      readonly message: string;
      readonly delayMs: number;
    };

/**
 * Makes the callbacks of later's jobs: leases a job, posts it, and settles it under its lease. The job of a server that
 * is killed comes back when its lease ends.
 */
export class CallbackWorker {
  private readonly loop: LeaseLoop;

  constructor(private readonly parts: CallbackWorkerParts) {
    const { isClosing, log } = parts;
    this.loop = new LeaseLoop({ step: () => this.step(), isClosing, log, name: 'later', details: {} });
  }

  start(): void {
    this.loop.start();
  }

  /** Leases nothing more. Callbacks under way have `graceMs`; then they are cut off, and their jobs released. */
  stop(graceMs: number): Promise<void> {
    return this.loop.stop(graceMs);
  }

  private async step(): Promise<void> {
    const free = this.parts.maxInFlight - this.loop.size;
    if (free === 0) return this.loop.oneEnds();
    const { engine, namespace, queue } = this.parts;
    const startMs = performance.now();
    const jobs = await engine.lease(namespace, {
      ...{ queues: [queue], count: Math.min(free, MOST_JOBS), waitMs: WAIT_MS, signal: this.loop.signal },
      // The extended path says how often a job has failed.
      ...{ ttrMs: TIMEOUT_MS + MORE_MS, worker: '', inTurns: true, isInternal: true },
    });
    for (const job of jobs) this.loop.begin(job, ({ signal }) => this.callBack(job, signal));
    if (jobs.length === 0) await this.loop.restAfterWait(startMs);
  }

  private async callBack(job: LeasedJob, signal: AbortSignal): Promise<void> {
    const outcome = await this.outcomeOf(job, signal);
    await storeOutcome(() => this.settle(job, outcome));
  }

  private async outcomeOf(leased: LeasedJob, signal: AbortSignal): Promise<Outcome> {
    const job = laterJobOf(leased.body);
    if (job === null) return permanent('foreign', 'the data is no job of later');
    const callback = callbackUrlOf(job.callback, this.parts.allow);
    if (callback === null)
      return permanent('blocked', 'later.allow does not have the origin of the callback');
    const { url, authorization } = callback;
    try {
      const answer = await this.parts.sender.send({
        ...{ url, method: 'POST', body: callbackBody(leased.id, job), timeoutMs: TIMEOUT_MS },
        headers: {
          ...{ 'content-type': 'application/json', 'accept-encoding': 'gzip', 'user-agent': 'Pumphouse' },
          ...(authorization === undefined ? {} : { authorization }),
        },
        ...{ maxAnswerBytes: MAX_ANSWER_BYTES, signal },
      });
      const reply = replyOf(answer);
      if (reply === 'throttled') return throttled(leased, job);
      return reply === 'done' ? { action: 'ack' } : failed(leased, job, 'not_done', failureText(answer));
    } catch (error) {
      if (!(error instanceof SendError)) throw error;
      if (error.problem === 'aborted') return { action: 'release', delayMs: 0, isCounted: false };
      return failed(leased, job, error.problem, error.message);
    }
  }

  private async settle({ id, lease }: LeasedJob, outcome: Outcome): Promise<void> {
    const { engine, namespace, queue } = this.parts;
    if (outcome.action === 'ack') {
      await engine.ack(namespace, queue, id, lease);
    } else if (outcome.action === 'release') {
      const { delayMs, isCounted } = outcome;
      await engine.settle.release(namespace, { id, lease, delayMs, isCounted });
    } else {
      const { action, group, message, delayMs } = outcome;
      if (action === 'fail') await engine.settle.fail(namespace, { id, lease, group, message });
      else await engine.settle.retry(namespace, { id, lease, group, message, delayMs });
    }
  }
}

function throttled(leased: LeasedJob, job: LaterJob): Outcome {
  const releases = leased.extended?.released ?? 0;
  if (releases >= MOST_RELEASES) {
    return failed(leased, job, 'throttled', `code 101 for more than ${String(MOST_RELEASES)} times`);
  }
  return { action: 'release', delayMs: releaseDelayMs(releases), isCounted: true };
}

function permanent(group: string, message: string): Outcome {
  return { action: 'fail', group, message, delayMs: 0 };
}

/** Tries in all are one more than the retries of the job; expired leases do not count. */
function failed({ extended }: LeasedJob, job: LaterJob, group: string, message: string): Outcome {
  const failures = (extended?.failures ?? 0) + 1;
  if (failures > job.max_retry) return permanent(group, message);
  return { action: 'retry', group, message, delayMs: retryDelayMs(failures) };
}
