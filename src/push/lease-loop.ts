import { setTimeout as sleep } from 'node:timers/promises';
import { QueueError } from '../domain/errors.js';
import type { LeasedJob } from '../domain/job/job.js';
import type { Log } from '../domain/log.js';

/** What a lease loop is made of. */
export interface LeaseLoopOptions {
  /** Leases jobs once and begins with them. It is called again and again, and may throw an error of the store. */
  readonly step: () => Promise<void>;
  /** True once the server lets no client wait any more. */
  readonly isClosing: () => boolean;
  readonly log: Log;
  /** What logs its lines: `push` or `later`. */
  readonly name: string;
  /** Fields of its log lines. */
  readonly details: Readonly<Record<string, string>>;
}

/** Pause after an error of the store, and after a wait that ended at once, in milliseconds. */
export const PAUSE_MS = 500;
/** How often an outcome is sent again while the store does not answer. */
const TRIES = 5;

/**
 * Leases jobs for this server in a loop, and has those that are under way. The job of a server that is killed comes back
 * when its lease ends.
 */
export class LeaseLoop {
  /** Jobs that are worked on now, with what cuts their requests off. */
  private readonly underWay = new Map<Promise<void>, AbortController>();
  private waking = new AbortController();
  private isStopped = false;
  private running: Promise<void> | undefined;

  constructor(private readonly options: LeaseLoopOptions) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Leases nothing more. Requests under way have `graceMs`; then they are cut off. */
  async stop(graceMs: number): Promise<void> {
    this.isStopped = true;
    this.wake();
    await this.running;
    const timer = setTimeout(() => {
      for (const cutting of this.underWay.values()) cutting.abort();
    }, graceMs);
    await Promise.all(this.underWay.keys());
    clearTimeout(timer);
  }

  /** Ends the waits and rests of the present step. */
  wake(): void {
    this.waking.abort();
    this.waking = new AbortController();
  }

  /** Aborted by `wake` and `stop`. */
  get signal(): AbortSignal {
    return this.waking.signal;
  }

  /** True if no more jobs may be begun. */
  get isEnding(): boolean {
    return this.isStopped || this.options.isClosing();
  }

  /** Number of jobs under way. */
  get size(): number {
    return this.underWay.size;
  }

  /** Resolves when a job that is under way has ended. */
  async oneEnds(): Promise<void> {
    await Promise.race(this.underWay.keys());
  }

  /** Waits, but not beyond `wake`. @param ms milliseconds */
  async rest(ms: number): Promise<void> {
    if (this.isStopped) return;
    await sleep(ms, undefined, { signal: this.waking.signal }).catch(() => undefined);
  }

  /** Rests if a lease request that should have waited ended at once: the server closes, or the store does not let it wait. @param startMs its start, by `performance.now()` */
  async restAfterWait(startMs: number): Promise<void> {
    if (performance.now() - startMs < PAUSE_MS) await this.rest(PAUSE_MS);
  }

  /** Works on a job until its outcome is stored. @param work ends soon after `cutting` is aborted */
  begin(
    job: LeasedJob,
    work: (cutting: AbortController) => Promise<void>,
    ended: () => void = () => undefined,
  ): void {
    const { log, name, details } = this.options;
    const cutting = new AbortController();
    const running = work(cutting)
      .catch((error: unknown) => {
        log.warn({ err: error, ...details, job: job.id }, `${name}: the outcome of a job was not stored`);
      })
      .finally(() => {
        ended();
        this.underWay.delete(running);
      });
    this.underWay.set(running, cutting);
  }

  private async run(): Promise<void> {
    const { step, log, name, details } = this.options;
    while (!this.isEnding) {
      try {
        await step();
      } catch (error) {
        // The store is away: what is leased comes back by itself.
        log.debug({ err: error, ...details }, `${name}: a lease call failed`);
        await this.rest(PAUSE_MS);
      }
    }
  }
}

/**
 * Stores the outcome of a job under its lease; nothing if the lease is lost.
 *
 * @throws {QueueError} the store gave no answer, several times: the job comes back when its lease ends
 */
export async function storeOutcome(store: () => Promise<unknown>): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      await store();
      return;
    } catch (error) {
      // The lease is over: another worker has the job, or it is gone.
      if (isLost(error)) return;
      if (i === TRIES) throw error;
      await sleep(PAUSE_MS * i);
    }
  }
}

/** True if a lease is over, or its job is gone. */
export function isLost(error: unknown): boolean {
  return error instanceof QueueError && (error.code === 'lease_lost' || error.code === 'job_not_found');
}
