import { performance } from 'node:perf_hooks';
import type { LoopStatus } from '../../domain/loop.js';
import type { EngineObserver } from '../core/observer.js';

/** Longest error message that is kept, in characters: some contain arguments of a script. */
const MAX_MESSAGE = 200;

/** One run of a loop. */
export class LoopRun {
  readonly beganMs = Date.now();
  durationMs: number | null = null;
  moved: number | null = null;
  private readonly startedMs = performance.now();

  constructor(readonly lagMs: number) {}

  /** @returns how long it took, in milliseconds */
  end(moved: number): number {
    this.moved = moved;
    return (this.durationMs = performance.now() - this.startedMs);
  }
}

/** Remembers the last run and the last error of a loop. Runs may overlap: the one that began last is kept. */
export class LoopRecord {
  private last: LoopRun | undefined;
  private lastError: LoopStatus['lastError'] = null;

  constructor(
    readonly name: string,
    private readonly observer: EngineObserver,
  ) {}

  /** A run begins, `lagMs` later than planned. */
  begin(lagMs: number): LoopRun {
    return (this.last = new LoopRun(Math.max(lagMs, 0)));
  }

  /** Records the failure of a run or of a part of it. */
  fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.lastError = { message: message.slice(0, MAX_MESSAGE), atMs: Date.now() };
    this.observer.loopError(this.name, error);
  }

  /** @param nextInMs null = no run is planned */
  status(nextInMs: number | null): LoopStatus {
    const { beganMs = null, durationMs = null, moved = null, lagMs = null } = this.last ?? {};
    const nextRunMs = nextInMs === null ? null : Date.now() + Math.max(nextInMs, 0);
    return {
      ...{ name: this.name, lastRunMs: beganMs, durationMs, moved, lagMs, nextRunMs },
      lastError: this.lastError,
    };
  }
}
