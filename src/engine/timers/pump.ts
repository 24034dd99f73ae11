import type { LoopStatus } from '../../domain/loop.js';
import { findDue, WALK_END } from '../../redis/due-soon.js';
import type { RedisPool } from '../../redis/pool.js';
import { orderFairly, runTimers } from '../../redis/scripts/extended.js';
import type { ExpiredLease } from '../../redis/scripts/script.js';
import { pump as pumpScript } from '../../redis/scripts/simple.js';
import { Loop } from './loop.js';
import { LoopRecord } from './loop-record.js';
import type { EngineObserver, PumpCounts } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { Timers } from './timers.js';

/** Maximum number of jobs that one script call checks: 1.2 ms of Redis, 1.5 while a time slot of far jobs is opened. */
export const PUMP_STEP = 256;
/** Maximum number of extended jobs that one call of the tick script checks: about 2 ms of Redis. */
const TICK_STEP = /* guard: retention-in-bounded-steps */ 64;
/** Maximum number of calls in flight while there is more than one can move: Redis need not wait for our next call. */
const MAX_IN_FLIGHT = 2;
/** A timer is set for jobs that are due within this time, in milliseconds; a sweep finds later ones in time. */
const HORIZON_MS = 2_500;
/** Period in which a sweep checks all namespaces, in milliseconds: bounds the time to take over from a dead server. */
const SWEEP_MS = 1_000;
/** Namespaces per step of a sweep, a quarter of a millisecond of Redis. Above `MOST_STEPS` steps, each checks more. */
const SWEEP_STEP = 250;
const MOST_STEPS = 10;
/** Maximum number of namespaces that one script checks: half a millisecond of Redis. */
const MOST_IN_ONE = 500;
/** Pause before a failed pump run of a namespace is repeated, in milliseconds. */
const AFTER_FAILURE_MS = 500;

/** Pause before this process looks again at what it left to another one, in milliseconds. */
const LEFT_MS = 1_000;
const NOTHING = { moved: 0, isLeft: false };

interface WakeTimer {
  /** Name of its timeout: names of namespaces have no colon. */
  readonly timer: string;
  dueMs: number;
  isRunning: boolean;
}

/** Goes on with operations that their servers have left. */
export interface OperationTaker {
  /** This process can check the rights of those who start operations. */
  readonly checksRights: boolean;
  want(namespace: string, id: string): void;
}

/** Result of a step. */
interface Step {
  readonly nowMs: number;
  /** 0 = no job is waiting. */
  readonly nextDueMs: number;
  readonly moved: number;
  /** A timer that is due is left to another process. */
  readonly isLeft: boolean;
}

/**
 * Moves due jobs: scheduled ones, and those whose leases expired. This server sets timers for the due times that it
 * knows from its own calls; a sweep over the namespaces finds those of other servers. Several servers may pump the same
 * namespace: each job moves once.
 */
export class Pump {
  private readonly wakeTimers = new Map<string, WakeTimer>();
  private readonly record: LoopRecord;
  private readonly sweeper: Loop;
  /** State of the current sweep: its cursor, the next step, the number of steps, namespaces per step, and in total. */
  private cursor = WALK_END;
  private turn = 0;
  private steps = 1;
  private share = SWEEP_STEP;
  private total = 0;
  private isStarted = false;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    /** Removes delivery log entries of responses that have left, so that the script counts them as delivered. */
    private readonly deliveryLogs: { flush(namespace: string): void },
    /** Quotas that jobs of schedules must respect, as scripts read them. */
    private readonly quotasOf: (namespace: string) => string,
    private readonly timers: Timers,
    /** Computes more slots of a recurring job by cron. */
    private readonly extendSlots: (namespace: string, id: string) => Promise<void>,
    /** Goes on with operations that no server goes on with. */
    private readonly operations: OperationTaker,
  ) {
    this.record = new LoopRecord('pump', observer);
    this.sweeper = new Loop({
      ...{ name: 'sweep', pool: pool.name, timers, observer },
      run: () => this.sweepStep(),
      // Starts at multiples of the period: with a slow Redis, steps become less frequent.
      pauseMs: (durationMs) => SWEEP_MS / this.steps - (durationMs % (SWEEP_MS / this.steps)),
    });
  }

  start(): void {
    // guard: pump-runs-by-itself
    this.isStarted = true;
    this.sweeper.schedule(0);
  }

  /** Ends all timers and waits for the runs in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
    // guard: pump-clears-timeouts
    for (const { timer } of this.wakeTimers.values()) this.timers.clear(timer);
    this.wakeTimers.clear();
    await Promise.all([this.sweeper.stop(), ...this.running]);
  }

  /** Status of the pump itself, which runs for one namespace at a time, and of its sweep. */
  loops(): LoopStatus[] {
    const dues = [...this.wakeTimers.values()].map(({ dueMs }) => dueMs);
    const nextDueMs = dues.reduce((first, dueMs) => Math.min(first, dueMs), Number.POSITIVE_INFINITY);
    const nextInMs = Number.isFinite(nextDueMs) ? nextDueMs - this.runner.now() : null;
    return [this.record.status(nextInMs), this.sweeper.status()];
  }

  /**
   * Makes the pump run at `dueMs` (Unix ms, Redis's clock), when a job of the namespace is due. An earlier time
   * replaces a later one.
   */
  scheduleWakeup(namespace: string, dueMs: number): void {
    const inMs = dueMs - this.runner.now();
    // Not started: jobs move only in `pumpNow`, so that a test controls the time.
    if (!this.isStarted || this.isStopped || inMs > HORIZON_MS) return;
    const wakeTimer = this.wakeTimers.get(namespace);
    if (!wakeTimer) {
      const fresh: WakeTimer = { timer: `pump:${this.pool.name}:${namespace}`, dueMs, isRunning: false };
      this.wakeTimers.set(namespace, fresh);
      this.setTimer(namespace, fresh, inMs);
    } else if (dueMs < /* guard: earlier-due-rearms */ wakeTimer.dueMs) {
      wakeTimer.dueMs = dueMs;
      if (!wakeTimer.isRunning) this.setTimer(namespace, wakeTimer, inMs);
    }
  }

  /** Moves all due jobs now. @returns when the next one is due: Unix ms, 0 = no job is waiting */
  async pumpNow(namespace: string): Promise<number> {
    return (await this.pumpAll(namespace)).nextDueMs;
  }

  private async pumpAll(namespace: string): Promise<Pick<Step, 'nextDueMs' | 'moved'>> {
    let moved = 0;
    for (let calls = 1; ; calls = MAX_IN_FLIGHT) {
      const steps = await Promise.all(Array.from({ length: calls }, () => this.step(namespace)));
      for (const step of steps) moved += step.moved;
      const { nextDueMs, nowMs } = steps.at(-1) ?? { nextDueMs: 0, nowMs: 0 };
      // A server finds it by its sweep, and until then this process must not try again and again.
      if (steps.every((step) => step.isLeft && step.moved === 0))
        return { nextDueMs: nowMs + LEFT_MS, moved };
      if (this.isStopped) return { nextDueMs, moved };
      if (nextDueMs === 0 || nextDueMs > nowMs) return { nextDueMs, moved };
    }
  }

  private async step(namespace: string): Promise<Step> {
    // The script counts an expired lease of this server as a used try only if its response has left.
    // guard: pump-flushes-delivered
    this.deliveryLogs.flush(namespace);
    const {
      nowMs,
      nextDueMs,
      earliestMs,
      moved,
      isExtendedDue,
      expiredLeases: expiredLeases,
    } = await this.runner.run(pumpScript, namespace, { limit: PUMP_STEP });
    const ticked = isExtendedDue ? await this.tick(namespace) : NOTHING;
    if (moved && earliestMs > 0) this.observer.pumped(namespace, moved, nowMs - earliestMs);
    if (moved && moved.expired > 0) this.observer.expired(namespace, moved.expired);
    this.reportExpired(namespace, expiredLeases);
    // After a tick the next due time is unknown until the simple pump script has run again.
    return {
      nowMs,
      nextDueMs: isExtendedDue ? nowMs : nextDueMs,
      moved: ticked.moved + (moved ? sumOf(moved) : 0),
      isLeft: ticked.isLeft,
    };
  }

  /** Runs one step of the extended pump. @returns how many jobs it moved or created */
  private async tick(namespace: string): Promise<Pick<Step, 'moved' | 'isLeft'>> {
    const args = {
      ...{ limit: TICK_STEP, quotas: this.quotasOf(namespace) },
      checks_rights: this.operations.checksRights ? '1' : '0',
    };
    const {
      nowMs,
      earliestMs,
      moved,
      made,
      lostSessions,
      wantedSlots,
      operations,
      fairQueues,
      left,
      expiredLeases,
    } = await this.runner.run(runTimers, namespace, args);
    for (const [queue, jobs] of made) this.observer.published(namespace, queue, jobs, 0);
    if (earliestMs > 0) this.observer.pumped(namespace, moved, Math.max(nowMs - earliestMs, 0));
    if (moved.expired > 0) this.observer.expired(namespace, moved.expired);
    this.reportExpired(namespace, expiredLeases);
    if (lostSessions > 0) this.observer.sessions(namespace, 'lost', lostSessions);
    for (const operation of operations) this.operations.want(namespace, operation);
    await Promise.all(wantedSlots.map((id) => this.extend(namespace, id)));
    for (const number of fairQueues) await this.order(namespace, number);
    return { moved: made.reduce((sum, [, jobs]) => sum + jobs, sumOf(moved)), isLeft: left > 0 };
  }

  /** The timer asks again soon if this fails: it must not hold up other timers. */
  private async extend(namespace: string, id: string): Promise<void> {
    try {
      await this.extendSlots(namespace, id);
    } catch (error) {
      this.record.fail(error);
    }
  }

  /** Moves some ready jobs of a queue that became fair, or is fair no more. The timer is set for the next step. */
  private async order(namespace: string, number: number): Promise<void> {
    try {
      await this.runner.run(orderFairly, namespace, { number });
    } catch (error) {
      this.record.fail(error);
    }
  }

  private reportExpired(namespace: string, expiredLeases: readonly ExpiredLease[]): void {
    for (const { queue, returned, died } of expiredLeases) {
      if (returned > 0) this.observer.retried(namespace, queue, returned);
      if (died > 0) this.observer.failed(namespace, queue, died);
    }
  }

  private setTimer(namespace: string, wakeTimer: WakeTimer, inMs: number): void {
    this.timers.set(
      wakeTimer.timer,
      Math.max(inMs, 0),
      () => void this.track(this.fire(namespace, wakeTimer)),
    );
  }

  private async fire(namespace: string, wakeTimer: WakeTimer): Promise<void> {
    const run = this.record.begin(this.runner.now() - wakeTimer.dueMs);
    wakeTimer.isRunning = true;
    wakeTimer.dueMs = Number.POSITIVE_INFINITY;
    let [nextDueMs, moved] = [0, 0];
    try {
      ({ nextDueMs, moved } = await this.pumpAll(namespace));
    } catch (error) {
      this.record.fail(error);
      wakeTimer.dueMs = Math.min(wakeTimer.dueMs, this.runner.now() + AFTER_FAILURE_MS);
    }
    run.end(moved);
    wakeTimer.isRunning = false;
    this.wakeTimers.delete(namespace);
    const dueMs = Math.min(wakeTimer.dueMs, nextDueMs || Number.POSITIVE_INFINITY);
    if (dueMs !== Number.POSITIVE_INFINITY) this.scheduleWakeup(namespace, dueMs);
  }

  /**
   * Checks this step's share of the namespaces; the last step checks all that are left. @returns how many have jobs due
   * soon
   */
  private async sweepStep(): Promise<number> {
    const isFirst = this.turn === 0;
    const isLast = this.turn === this.steps - 1;
    this.turn = isLast ? 0 : this.turn + 1;
    // Redis returns a few more or fewer namespaces than requested: a sweep may be complete before its last step.
    const isDone = !isFirst && this.cursor === WALK_END;
    const due = isDone
      ? 0
      : await this.walk(
          isLast
            ? /* guard: sweep-last-step-complete */ Number.POSITIVE_INFINITY
            : /* guard: sweep-last-step-complete */ this.share,
        );
    if (!isLast) return due;
    this.steps = Math.min(Math.max(Math.ceil(this.total / SWEEP_STEP), 1), MOST_STEPS);
    this.share = Math.max(Math.ceil(this.total / this.steps), 1);
    return due;
  }

  /** Continues the sweep over about `most` namespaces. @returns how many have jobs due soon */
  private async walk(most: number): Promise<number> {
    let due = 0;
    for (let left = most; left > 0 && !this.isStopped; left -= MOST_IN_ONE) {
      const count = Math.min(left, MOST_IN_ONE);
      const page = await findDue(this.pool, {
        cursor: this.cursor,
        count,
        horizonMs: this.runner.now() + HORIZON_MS,
      });
      this.cursor = page.cursor;
      this.total = page.total;
      // guard: sweep-takes-over
      for (const [namespace, dueMs] of page.due) this.scheduleWakeup(namespace, dueMs);
      due += page.due.length;
      if (this.cursor === WALK_END) break;
    }
    return due;
  }

  private async track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }
}

function sumOf({ due, returned, died, expired }: PumpCounts): number {
  return due + returned + died + expired;
}
