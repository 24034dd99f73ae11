import type { WorkerDriver } from '../driver.js';
import { isPumphouseError } from '../errors.js';
import type { HeldJob, Progress } from './held-job.js';
import type { LoopGuard } from './loop-guard.js';

/** A heartbeat is due after this part of the lease, ± `JITTER` of it: two more can follow if one is not answered. */
const HEARTBEAT_PART = 1 / 3;
const JITTER = 0.1;
/** After a heartbeat that was not answered. */
const AGAIN_PART = 1 / 20;
/** How long one heartbeat may take. */
const ATTEMPT_PART = 1 / 6;
/** Without an answer for so long, another worker may get the job soon. */
const UNCONFIRMED_PART = 0.8;
/** Times at which due heartbeats are looked for, in each lease. */
const TICKS = 60;
const MIN_TICK_MS = 5;
const MAX_TICK_MS = 1_000;
const MIN_ATTEMPT_MS = 50;
const MAX_ATTEMPT_MS = 10_000;

/** Sends heartbeats for all jobs of a worker, until each is settled. */
export class LeaseKeeper {
  private readonly held = new Set<HeldJob>();
  private readonly tickMs: number;
  private readonly attemptMs: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly driver: WorkerDriver,
    private readonly ttrMs: number,
    private readonly guard: LoopGuard,
  ) {
    this.tickMs = Math.min(MAX_TICK_MS, Math.max(MIN_TICK_MS, ttrMs / TICKS));
    this.attemptMs = Math.min(MAX_ATTEMPT_MS, Math.max(MIN_ATTEMPT_MS, ttrMs * ATTEMPT_PART));
  }

  /** Milliseconds to the next heartbeat of a lease that begins now. */
  pauseMs(): number {
    return this.ttrMs * HEARTBEAT_PART * (1 - JITTER + 2 * JITTER * Math.random());
  }

  add(held: HeldJob): void {
    this.held.add(held);
  }

  start(): void {
    this.guard.begin(this.tickMs);
    this.timer = setInterval(() => this.tick(), this.tickMs);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** True if no heartbeat was answered for so long that another worker may have the job soon. */
  isDoubtful({ confirmedMs }: HeldJob): boolean {
    return performance.now() - confirmedMs > this.ttrMs * UNCONFIRMED_PART;
  }

  /** Sends a heartbeat now. @returns true if it was answered, and the lease is there */
  async confirm(held: HeldJob): Promise<boolean> {
    const beforeMs = held.confirmedMs;
    await this.beat(held);
    return held.confirmedMs > beforeMs;
  }

  remove(held: HeldJob): void {
    this.held.delete(held);
    stored(held.progress);
    held.progress = undefined;
  }

  /** Sends a heartbeat with this progress, as soon as the one in flight is answered. */
  progress(held: HeldJob, value: unknown): Promise<void> {
    if (!this.held.has(held)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      held.progress = { value, waiting: [...(held.progress?.waiting ?? []), { resolve, reject }] };
      if (!held.isBeating) void this.beat(held);
    });
  }

  private tick(): void {
    this.guard.tick(this.held.size > 0);
    const nowMs = performance.now();
    for (const held of this.held) {
      if (this.isDoubtful(held)) held.abort('lease_unconfirmed');
      if (nowMs >= held.nextHeartbeatMs && !held.isBeating) void this.beat(held);
    }
  }

  private async beat(held: HeldJob): Promise<void> {
    const { progress } = held;
    held.progress = undefined;
    held.isBeating = true;
    let isStored = false;
    const sentMs = performance.now();
    const options = { ttrMs: this.ttrMs, timeoutMs: this.attemptMs };
    try {
      const { cancelRequested } = await this.driver.heartbeat(
        held.job,
        progress ? { ...options, progress: progress.value } : options,
      );
      held.confirmedMs = sentMs;
      held.nextHeartbeatMs = performance.now() + this.pauseMs();
      if (cancelRequested) held.abort('cancelled');
      stored(progress);
      isStored = true;
    } catch (error) {
      held.nextHeartbeatMs = performance.now() + this.ttrMs * AGAIN_PART;
      if (isPumphouseError(error, 'lease_lost', 'job_not_found')) {
        this.lost(held);
        stored(progress);
      } else if (progress) this.again(held, progress, error);
    }
    held.isBeating = false;
    if (isStored && hasProgress(held)) void this.beat(held);
  }

  /** Progress that was not stored goes with the next heartbeat, unless the server refuses it. */
  private again(held: HeldJob, progress: Progress, error: unknown): void {
    if (!isPumphouseError(error) || !error.retryable) {
      for (const { reject } of progress.waiting) reject(error);
    } else if (this.held.has(held)) {
      const newer = held.progress;
      held.progress = {
        value: (newer ?? progress).value,
        waiting: [...progress.waiting, ...(newer?.waiting ?? [])],
      };
    } else stored(progress);
  }

  /** Of a job whose ack is on its way the answer to the ack counts: a heartbeat that comes behind it finds no job. */
  private lost(held: HeldJob): void {
    if (held.state === 'settling' || held.state === 'gone') return;
    held.abort('lease_lost');
  }
}

/** New progress may have come while a heartbeat was in flight. */
function hasProgress({ progress }: HeldJob): boolean {
  return progress !== undefined;
}

function stored(progress: Progress | undefined): void {
  for (const { resolve } of progress?.waiting ?? []) resolve();
}
