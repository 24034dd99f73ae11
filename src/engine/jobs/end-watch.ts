import { MAX_TIMER_MS } from '../../domain/limits.js';
import { JOB_STATES, type JobState } from '../../domain/job/states.js';
import { readStates } from '../../redis/scripts/extended.js';
import { encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';

/** How often jobs are checked, in milliseconds: a waiter learns of an end half of this time late, on average. */
const CHECK_MS = 50;
/** Maximum number of jobs that one script call checks. */
const AT_ONCE = 64;
/** With more jobs than this, checks become less frequent, so that the load on Redis stays the same. */
const USUAL = 640;
const ENDED = new Set<number>(
  (['dead', 'done', 'cancelled'] as const satisfies JobState[]).map((state) => JOB_STATES[state]),
);
const GONE = 0;

interface Watch {
  readonly namespace: string;
  readonly id: Buffer;
  readonly end: () => void;
}

/** Waits for jobs to end. One timer checks for all waiters; without waiters there is none. */
export class EndWatch {
  private readonly watches = new Set<Watch>();
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(private readonly runner: ScriptRunner) {}

  /**
   * Resolves when a job has ended or is deleted; also when `waitMs` are over, `signal` is aborted, or the engine stops.
   * The caller reads the job to find out which.
   */
  wait(namespace: string, id: string, waitMs: number, signal?: AbortSignal): Promise<void> {
    const encoded = encodeId(id);
    if (!encoded || this.isStopped || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const watch: Watch = {
        namespace,
        id: encoded,
        end: () => {
          clearTimeout(limit);
          signal?.removeEventListener('abort', watch.end);
          this.watches.delete(watch);
          resolve();
        },
      };
      const limit = setTimeout(watch.end, Math.min(waitMs, MAX_TIMER_MS));
      signal?.addEventListener('abort', watch.end);
      this.watches.add(watch);
      this.scheduleWakeup();
    });
  }

  /** Ends every wait, now and in future. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    for (const { end } of [...this.watches]) end();
  }

  private scheduleWakeup(): void {
    if (this.timer !== undefined || this.isStopped || this.watches.size === 0) return;
    this.timer = setTimeout(
      () => {
        void this.check().then(() => {
          this.timer = undefined;
          this.scheduleWakeup();
        });
      },
      CHECK_MS * Math.ceil(this.watches.size / USUAL),
    );
  }

  /**
   * Checks the watched jobs. Ignores errors: while the store is unavailable, waiters wait on until their time is over.
   */
  private async check(): Promise<void> {
    const byNamespace = new Map<string, Watch[]>();
    for (const watch of this.watches) {
      const own = byNamespace.get(watch.namespace);
      if (own === undefined) byNamespace.set(watch.namespace, [watch]);
      else own.push(watch);
    }
    for (const [namespace, watches] of byNamespace) {
      for (let i = 0; i < watches.length; i += AT_ONCE) {
        await this.checkNamespace(namespace, watches.slice(i, i + AT_ONCE)).catch(() => undefined);
      }
    }
  }

  private async checkNamespace(namespace: string, watches: readonly Watch[]): Promise<void> {
    const items = watches.map(({ id }) => [id]);
    const { codes } = await this.runner.run(readStates, namespace, {}, items);
    watches.forEach(({ end }, i) => {
      const state = codes[i] ?? GONE;
      if (state === GONE || ENDED.has(state)) end();
    });
  }
}
