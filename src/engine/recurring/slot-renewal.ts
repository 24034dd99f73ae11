import type { EngineObserver } from '../core/observer.js';
import { Loop } from '../timers/loop.js';
import type { Timers } from '../timers/timers.js';
import type { Recurrings } from './recurring.js';

/** A new server has more urgent work first. */
const DELAY_MS = 5_000;
/** Pause after a pass that failed. */
const AGAIN_MS = 30_000;
/** Pause between passes. Servers with older time zones may compute slots at any time. */
const PAUSE_MS = 3_600_000;

export interface SlotRenewalOptions {
  readonly pool: string;
  readonly timers: Timers;
  readonly observer: EngineObserver;
  readonly namespaces: () => Promise<string[]>;
  readonly recurrings: Pick<Recurrings, 'renew'>;
  /** Listeners for when Redis's clock was set back. */
  readonly whenSetBack: Set<() => void>;
}

/**
 * Computes the slots of recurring jobs again that a server with older time zones has computed, or that come late because Redis's clock
 * was ahead. In a rolling upgrade such a server may do so after the first pass; a clock may be set back at any time.
 */
export class SlotRenewal {
  readonly loop: Loop;
  private isDone = false;
  private isStopped = false;
  private readonly hasten = (): void => this.loop.hasten();

  constructor(private readonly options: SlotRenewalOptions) {
    const { pool, timers, observer } = options;
    this.loop = new Loop({
      ...{ name: 'slot_renewal', pool, timers, observer },
      run: () => this.renewAll(),
      pauseMs: () => (this.isDone ? /* guard: cron-recomputed-hourly */ PAUSE_MS : AGAIN_MS),
    });
  }

  start(): void {
    this.options.whenSetBack.add(this.hasten);
    this.loop.schedule(DELAY_MS);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.options.whenSetBack.delete(this.hasten);
    await this.loop.stop();
  }

  private async renewAll(): Promise<number> {
    let renewed = 0;
    this.isDone = false;
    for (const namespace of await this.options.namespaces()) {
      if (this.isStopped) return renewed;
      renewed += await this.options.recurrings.renew(namespace);
    }
    this.isDone = true;
    return renewed;
  }
}
