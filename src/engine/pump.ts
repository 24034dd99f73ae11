import { lookForDue, WALK_END } from '../redis/due-soon.js';
import type { RedisPool } from '../redis/pool.js';
import { fullTick } from '../redis/scripts/full.js';
import type { Lapse } from '../redis/scripts/replies.js';
import { pump as pumpScript } from '../redis/scripts/plain.js';
import type { DeliveryRecords } from './delivery-records.js';
import type { EngineObserver } from './observer.js';
import type { ScriptRunner } from './script-runner.js';

/** Jobs that one script call looks at: 1.2 ms of Redis, 1.5 while a slot of far jobs is opened. */
export const PUMP_STEP = 256;
/** Jobs of the full lane that one call of its clock looks at: about 2 ms of Redis. */
const TICK_STEP = 64;
/** Calls under way at once while there is more than one can move: Redis need not wait for our next word. */
const FULL_FLIGHT = 2;
/** A timer is armed for what is due within this; what is due later is seen by a sweep in time, in milliseconds. */
const HORIZON_MS = 2_500;
/** All namespaces are looked at once in this time, in milliseconds: the bound on taking over from a dead server. */
const SWEEP_MS = 1_000;
/** Namespaces of one step of a sweep, a quarter of a millisecond of Redis; of more steps than this, each looks at more. */
const SWEEP_STEP = 250;
const MOST_STEPS = 10;
/** Namespaces that one script looks at: half a millisecond of Redis. */
const MOST_IN_ONE = 500;
/** Pause before a namespace is pumped again that could not be, in milliseconds. */
const AFTER_FAILURE_MS = 500;

interface Alarm {
  dueMs: number;
  timer: NodeJS.Timeout | undefined;
  isRunning: boolean;
}

/**
 * Moves what is due: scheduled jobs and leases that ran out. Timers are armed from what this server does itself; a sweep over the
 * namespaces finds what other servers left. Several servers may pump the same namespace: each job moves once.
 */
export class Pump {
  private readonly alarms = new Map<string, Alarm>();
  private sweeper: NodeJS.Timeout | undefined;
  /** Of the sweep that goes on: where it is, which step is next of how many, how many namespaces each looks at, of how many. */
  private cursor = WALK_END;
  private turn = 0;
  private steps = 1;
  private share = SWEEP_STEP;
  private total = 0;
  private isSweeping = false;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly records: DeliveryRecords,
    /** What recurring jobs must keep to, as scripts read it. */
    private readonly quotas: string,
  ) {}

  start(): void {
    this.armSweep(0);
  }

  /** Ends all timers and waits for what is under way. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.sweeper);
    for (const alarm of this.alarms.values()) clearTimeout(alarm.timer);
    await Promise.all(this.running);
  }

  /** Something of the namespace is due at `dueMs` (Unix ms, Redis's clock). An earlier time moves the alarm forward. */
  arm(namespace: string, dueMs: number): void {
    const inMs = dueMs - this.runner.now();
    // Not started: nothing moves but by pumpNow, so that a test's clock is the only one.
    if (!this.sweeper || this.isStopped || inMs > HORIZON_MS) return;
    const alarm = this.alarms.get(namespace);
    if (!alarm) {
      const fresh: Alarm = { dueMs, timer: undefined, isRunning: false };
      this.alarms.set(namespace, fresh);
      this.setTimer(namespace, fresh, inMs);
    } else if (dueMs < alarm.dueMs) {
      alarm.dueMs = dueMs;
      if (!alarm.isRunning) this.setTimer(namespace, alarm, inMs);
    }
  }

  /** Moves all that is due now. Returns when the next is due: Unix ms, 0 = nothing is waiting. */
  async pumpNow(namespace: string): Promise<number> {
    for (let calls = 1; ; calls = FULL_FLIGHT) {
      const steps = await Promise.all(Array.from({ length: calls }, () => this.step(namespace)));
      const last = steps.at(-1);
      if (!last || last.nextDueMs === 0 || last.nextDueMs > last.nowMs) return last?.nextDueMs ?? 0;
    }
  }

  private async step(namespace: string): Promise<{ readonly nowMs: number; readonly nextDueMs: number }> {
    // A lease of this server's that runs out now is charged if its answer has left.
    this.records.flush(namespace);
    const { nowMs, nextDueMs, earliestMs, moved, isFullDue, lapses } = await this.runner.run(
      pumpScript,
      namespace,
      { limit: PUMP_STEP },
    );
    if (isFullDue) await this.tick(namespace);
    if (moved && earliestMs > 0) this.observer.pumped(namespace, moved, nowMs - earliestMs);
    if (moved && moved.expired > 0) this.observer.expired(namespace, moved.expired);
    this.tellLapses(namespace, lapses);
    // What is next is known again when the plain pump has looked once more.
    return { nowMs, nextDueMs: isFullDue ? nowMs : nextDueMs };
  }

  /** Sees to what is due of the full lane, one step of it. */
  private async tick(namespace: string): Promise<void> {
    const args = { limit: TICK_STEP, quotas: this.quotas };
    const { nowMs, earliestMs, moved, made, lapses } = await this.runner.run(fullTick, namespace, args);
    for (const [queue, jobs] of made) this.observer.published(namespace, queue, jobs, 0);
    if (earliestMs > 0) this.observer.pumped(namespace, moved, Math.max(nowMs - earliestMs, 0));
    if (moved.expired > 0) this.observer.expired(namespace, moved.expired);
    this.tellLapses(namespace, lapses);
  }

  private tellLapses(namespace: string, lapses: readonly Lapse[]): void {
    for (const { queue, returned, died } of lapses) {
      if (returned > 0) this.observer.retried(namespace, queue, returned);
      if (died > 0) this.observer.failed(namespace, queue, died);
    }
  }

  private setTimer(namespace: string, alarm: Alarm, inMs: number): void {
    clearTimeout(alarm.timer);
    alarm.timer = setTimeout(() => void this.track(this.ring(namespace, alarm)), Math.max(inMs, 0));
  }

  private async ring(namespace: string, alarm: Alarm): Promise<void> {
    alarm.isRunning = true;
    alarm.dueMs = Number.POSITIVE_INFINITY;
    let nextDueMs = 0;
    try {
      nextDueMs = await this.pumpNow(namespace);
    } catch (error) {
      this.observer.loopError('pump', error);
      alarm.dueMs = Math.min(alarm.dueMs, this.runner.now() + AFTER_FAILURE_MS);
    }
    alarm.isRunning = false;
    this.alarms.delete(namespace);
    const dueMs = Math.min(alarm.dueMs, nextDueMs || Number.POSITIVE_INFINITY);
    if (dueMs !== Number.POSITIVE_INFINITY) this.arm(namespace, dueMs);
  }

  private armSweep(inMs: number): void {
    this.sweeper = setTimeout(() => void this.sweep(), inMs);
  }

  /** One step of a sweep. A slow Redis makes steps rarer, never more than one at a time. */
  private async sweep(): Promise<void> {
    if (this.isStopped) return;
    this.armSweep(SWEEP_MS / this.steps);
    if (this.isSweeping) return;
    this.isSweeping = true;
    await this.track(this.sweepStep().catch((error: unknown) => this.observer.loopError('sweep', error)));
    this.isSweeping = false;
  }

  /** Looks at this step's share of the namespaces; the last one at all that are left. */
  private async sweepStep(): Promise<void> {
    const isFirst = this.turn === 0;
    const isLast = this.turn === this.steps - 1;
    this.turn = isLast ? 0 : this.turn + 1;
    // Namespaces are met a little sooner or later than their share says: a sweep may be over before its last step.
    if (isFirst || this.cursor !== WALK_END) await this.walk(isLast ? Number.POSITIVE_INFINITY : this.share);
    if (!isLast) return;
    this.steps = Math.min(Math.max(Math.ceil(this.total / SWEEP_STEP), 1), MOST_STEPS);
    this.share = Math.max(Math.ceil(this.total / this.steps), 1);
  }

  /** Goes on with the sweep over about as many namespaces. */
  private async walk(most: number): Promise<void> {
    for (let left = most; left > 0 && !this.isStopped; left -= MOST_IN_ONE) {
      const look = { cursor: this.cursor, count: Math.min(left, MOST_IN_ONE) };
      const page = await lookForDue(this.pool, { ...look, horizonMs: this.runner.now() + HORIZON_MS });
      this.cursor = page.cursor;
      this.total = page.total;
      for (const [namespace, dueMs] of page.due) this.arm(namespace, dueMs);
      if (this.cursor === WALK_END) return;
    }
  }

  private async track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }
}
