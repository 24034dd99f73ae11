import type { RedisPool } from '../../redis/pool.js';
import { Loop } from '../timers/loop.js';
import type { EngineObserver } from '../core/observer.js';
import type { Timers } from '../timers/timers.js';
import { unlessFull } from '../timers/unless-full.js';

/** Pause between checks whether a pass is due, in milliseconds. */
const CHECK_MS = 20_000;
/** A pass without progress for this long was left by a dead server. */
const STALLED_MS = 60_000;
/** Jobs that one script checks: less than half a millisecond. */
const STEP = 128;
const UNDER_WAY = 'under way';
const DONE = 'done';

/** Options of a walk over all jobs of a Redis. */
export interface JobWalkOptions {
  readonly name: string;
  /** Key that shows that a pass is running, or was completed. A pass ends where the key is gone. */
  readonly mark: string;
  /** How long a completed pass is valid, in milliseconds; `Infinity`: one pass for the lifetime of the store. */
  readonly goodForMs: number;
  /** Delay of the first check after the start, in milliseconds. */
  readonly firstCheckMs: number;
  /**
   * Whether this server makes passes now. A server that makes none from the start deletes the mark of the last pass, which does not cover
   * the jobs stored here.
   */
  readonly isOn: () => boolean;
  /** Visits some jobs of a namespace, by their encoded ids. @returns how many it changed */
  readonly visit: (namespace: string, ids: readonly Buffer[]) => Promise<number>;
  /** Visits what else a namespace has, when all jobs were visited. @returns how much it changed */
  readonly visitNamespace?: (namespace: string) => Promise<number>;
}

/**
 * A maintenance loop that visits every job of a Redis, in any state. One server at a time makes a pass; a pass may be
 * repeated, so a visit must be idempotent. It scans the keys of the whole Redis, because a scan does not miss jobs that
 * change state meanwhile.
 */
export class JobWalk {
  readonly loop: Loop;
  private isStarted = false;
  private isStopped = false;
  /** No more passes are needed. */
  private isOver = false;
  private hasDeletedMark = false;

  constructor(
    private readonly pool: Pick<RedisPool, 'name' | 'keys' | 'read' | 'scan'>,
    observer: EngineObserver,
    timers: Timers,
    private readonly options: JobWalkOptions,
  ) {
    this.loop = new Loop({
      ...{ name: options.name, pool: pool.name, timers, observer },
      run: () => unlessFull(() => this.checkOrWait()),
      pauseMs: () => (this.isOver ? null : CHECK_MS * (0.75 + Math.random() / 2)),
    });
  }

  start(): void {
    this.isStarted = true;
    this.loop.schedule(this.options.isOn() ? this.options.firstCheckMs : 0);
  }

  /** The last pass does not count any more, nor does one under way. @throws {QueueError} an error of the store */
  async forgetPass(): Promise<void> {
    await this.pool.read('DEL', this.options.mark);
    this.checkSoon();
  }

  /** Looks now whether a pass is due, if this engine runs its loops; not only at the next planned check. */
  checkSoon(): void {
    // guard: due-pass-begins-at-once
    if (this.isStarted) this.loop.hasten();
  }

  async stop(): Promise<void> {
    this.isStarted = false;
    this.isStopped = true;
    await this.loop.stop();
  }

  /** Makes one pass. @returns how many jobs were changed. @throws {QueueError} an error of the store */
  async runNow(): Promise<number> {
    const { mark, goodForMs, visitNamespace } = this.options;
    let changed = 0;
    await this.pool.read('SET', mark, UNDER_WAY, 'PX', STALLED_MS);
    for await (const keys of this.pool.scan(this.pool.keys.jobs, STEP)) {
      if (!(await this.goesOn())) return changed;
      for (const [namespace, ids] of this.byNamespace(keys)) changed += await this.visit(namespace, ids);
    }
    if (visitNamespace)
      for (const namespace of await this.namespaces()) {
        if (!(await this.goesOn())) return changed;
        changed += await visitNamespace(namespace);
      }
    const forGood = goodForMs === Number.POSITIVE_INFINITY;
    const expiry = forGood ? [] : ['PX', goodForMs];
    const isKnown = (await this.pool.read('SET', mark, DONE, 'XX', ...expiry)) !== null;
    this.isOver = forGood && isKnown;
    return changed;
  }

  /** Shows that the pass under way goes on. @returns false if it must end: it was forgotten, or this server stops */
  private async goesOn(): Promise<boolean> {
    const { mark } = this.options;
    const reply = await this.pool.read('SET', mark, UNDER_WAY, 'XX', 'PX', STALLED_MS);
    return /* guard: forgotten-pass-ends */ reply !== null && !this.isStopped;
  }

  /** Starts a pass if one is due and no other server makes one. @returns how many jobs were changed */
  private async check(): Promise<number> {
    const { mark, goodForMs } = this.options;
    const isOnce = goodForMs === Number.POSITIVE_INFINITY;
    if ((await this.pool.read('SET', mark, 'begun', 'NX', 'PX', STALLED_MS)) === null) {
      this.isOver = isOnce && (await this.pool.read('GET', mark)) === DONE;
      return 0;
    }
    return this.runNow();
  }

  private async checkOrWait(): Promise<number> {
    if (this.options.isOn()) return this.check();
    if (!this.hasDeletedMark) await this.pool.read('DEL', this.options.mark);
    this.hasDeletedMark = true;
    return 0;
  }

  private async namespaces(): Promise<string[]> {
    const names = await this.pool.read('SMEMBERS', this.pool.keys.namespaces);
    return Array.isArray(names) ? names.map(String) : [];
  }

  private byNamespace(keys: readonly Buffer[]): Map<string, Buffer[]> {
    const ids = new Map<string, Buffer[]>();
    for (const key of keys) {
      const job = this.pool.keys.jobOf(key);
      if (!job) continue;
      const known = ids.get(job.namespace);
      if (known) known.push(job.id);
      else ids.set(job.namespace, [job.id]);
    }
    return ids;
  }

  private async visit(namespace: string, ids: readonly Buffer[]): Promise<number> {
    let changed = 0;
    // SCAN may return more keys than requested.
    for (let i = 0; i < ids.length; i += STEP)
      changed += await this.options.visit(namespace, ids.slice(i, i + STEP));
    return changed;
  }
}
