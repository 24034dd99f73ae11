import { JOB_STATES, type JobState } from '../../domain/states.js';
import { fullStates } from '../../redis/scripts/full.js';
import { encodeId } from '../ids.js';
import type { ScriptRunner } from '../script-runner.js';

/** How often jobs are looked at, in milliseconds: half of it is what a waiter learns of the end too late, on average. */
const LOOK_MS = 50;
/** Jobs that one script call looks at. */
const AT_ONCE = 64;
/** With more jobs than this the looks become rarer, so that they cost Redis no more. */
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

/** Waits for the ends of jobs. However many wait, one timer looks, and none while nobody waits. */
export class EndWatch {
  private readonly watches = new Set<Watch>();
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(private readonly runner: ScriptRunner) {}

  /**
   * Resolves when a job has ended, or is gone; when `waitMs` are over, `signal` is aborted, or the engine stops. Which of them, a look at
   * the job tells.
   *
   * @param waitMs below 2^31, as timers have it
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
      const limit = setTimeout(watch.end, waitMs);
      signal?.addEventListener('abort', watch.end);
      this.watches.add(watch);
      this.arm();
    });
  }

  /** Ends every wait, now and from here on. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    for (const { end } of [...this.watches]) end();
  }

  private arm(): void {
    if (this.timer !== undefined || this.isStopped || this.watches.size === 0) return;
    this.timer = setTimeout(
      () => {
        void this.look().then(() => {
          this.timer = undefined;
          this.arm();
        });
      },
      LOOK_MS * Math.ceil(this.watches.size / USUAL),
    );
  }

  /** A store that is away tells of no end: whoever waits goes on, until he has waited long enough. */
  private async look(): Promise<void> {
    const byNamespace = new Map<string, Watch[]>();
    for (const watch of this.watches) {
      const own = byNamespace.get(watch.namespace);
      if (own === undefined) byNamespace.set(watch.namespace, [watch]);
      else own.push(watch);
    }
    for (const [namespace, watches] of byNamespace) {
      for (let i = 0; i < watches.length; i += AT_ONCE) {
        await this.lookAt(namespace, watches.slice(i, i + AT_ONCE)).catch(() => undefined);
      }
    }
  }

  private async lookAt(namespace: string, watches: readonly Watch[]): Promise<void> {
    const items = watches.map(({ id }) => [id]);
    const { codes } = await this.runner.run(fullStates, namespace, {}, items);
    watches.forEach(({ end }, i) => {
      const state = codes[i] ?? GONE;
      if (state === GONE || ENDED.has(state)) end();
    });
  }
}
