import { performance } from 'node:perf_hooks';
import type { LoopStatus } from '../../domain/loop.js';
import { LoopRecord } from './loop-record.js';
import type { EngineObserver } from '../core/observer.js';
import type { Timers } from './timers.js';

/** Options of a loop. */
export interface LoopOptions {
  /** Unique in an engine. */
  readonly name: string;
  /** Name of the pool: loops of several pools may share their timers. */
  readonly pool: string;
  readonly timers: Timers;
  readonly observer: EngineObserver;
  /** One run. @returns how many items it moved */
  readonly run: () => Promise<number>;
  /** The pause after a run of this duration, in milliseconds; null = no more runs until `schedule` is called. */
  readonly pauseMs: (durationMs: number) => number | null;
}

/**
 * Runs a function repeatedly: never twice at once; an error ends the run but not the loop; `stop` waits for the current
 * run.
 */
export class Loop {
  private readonly record: LoopRecord;
  private readonly timer: string;
  /** When the next run is planned, on the clock of `performance.now`. */
  private plannedMs: number | null = null;
  private running: Promise<void> | undefined;
  private isStopped = false;
  private isHastened = false;

  constructor(private readonly options: LoopOptions) {
    const { name, pool, observer } = options;
    this.record = new LoopRecord(name, observer);
    this.timer = `${name}:${pool}`;
  }

  /** Plans a run after `delayMs`, unless one is planned or running. */
  schedule(delayMs: number): void {
    if (this.isStopped || this.plannedMs !== null || /* guard: loop-runs-once */ this.running) return;
    const plannedMs = performance.now() + delayMs;
    this.plannedMs = plannedMs;
    this.options.timers.set(this.timer, delayMs, () => {
      this.plannedMs = null;
      this.running = this.run(performance.now() - plannedMs);
    });
  }

  /** Runs as soon as possible, also if a run is planned for later; after one that is under way. */
  hasten(): void {
    if (this.running) {
      this.isHastened = true;
      return;
    }
    this.plannedMs = null;
    this.schedule(0);
  }

  /** Starts no more runs. Resolves when none is running; may be called again to wait for that. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.plannedMs = null;
    this.options.timers.clear(this.timer);
    // guard: loop-stop-waits
    await this.running;
  }

  /** Records the failure of a part of a run; the run continues. */
  fail(error: unknown): void {
    this.record.fail(error);
  }

  status(): LoopStatus {
    return this.record.status(this.plannedMs === null ? null : this.plannedMs - performance.now());
  }

  private async run(lagMs: number): Promise<void> {
    const run = this.record.begin(lagMs);
    let moved = 0;
    try {
      moved = await this.options.run();
    } catch (error) {
      // guard: error-ends-a-run-not-the-loop
      this.record.fail(error);
    }
    const pauseMs = this.options.pauseMs(run.end(moved));
    this.running = undefined;
    if (this.isHastened) this.schedule(0);
    else if (pauseMs !== null) this.schedule(pauseMs);
    this.isHastened = false;
  }
}
