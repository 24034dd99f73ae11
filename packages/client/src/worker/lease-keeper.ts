import type { ExtendedLease, HeartbeatCall, SessionAnswer, WorkerDriver } from '../driver.js';
import { isPumphouseError } from '../errors.js';
import { clock } from './clock.js';
import type { AbortCode, HeldJob, Progress } from './held-job.js';
import { errorText, type Logger } from './logger.js';
import type { LoopGuard } from './loop-guard.js';
import type { Session } from './session.js';

/** A heartbeat is due after this part of the lease, ± `JITTER` of it: two more can follow if one is not answered. */
const HEARTBEAT_PART = 1 / 3;
const JITTER = 0.1;
/** After a heartbeat that was not answered. */
const AGAIN_PART = 1 / 20;
/** How long one heartbeat may take. */
const ATTEMPT_PART = 1 / 6;
/** Without an answer for so long, another worker may get the job soon. */
const UNCONFIRMED_PART = 0.8;
/** Times at which it is seen whether a heartbeat is due, in each lease. */
const TICKS = 60;
const MIN_TICK_MS = 5;
const MAX_TICK_MS = 1_000;
const MIN_ATTEMPT_MS = 50;
const MAX_ATTEMPT_MS = 10_000;
/** Leases of one heartbeat; more leases go in several, which are sent at once. */
const MAX_LEASES = 1_000;

export interface LeaseKeeperOptions {
  readonly driver: WorkerDriver;
  readonly session: Session;
  /** Those that the worker leases now. */
  readonly queues: () => readonly string[];
  readonly ttrMs: number;
  readonly guard: LoopGuard;
  readonly logger: Logger;
  /** Called with each answer that asks the worker to be quiet or to stop. */
  readonly onRequest: (what: 'quiet' | 'stop') => void;
}

/** Sends the heartbeats of a worker session, which extend all of its leases, until each job is settled. */
export class LeaseKeeper {
  private readonly held = new Set<HeldJob>();
  private readonly tickMs: number;
  private readonly attemptMs: number;
  private timer: NodeJS.Timeout | undefined;
  private nextHeartbeatMs = 0;
  /** The heartbeat that is on its way. */
  private beating: Promise<void> | undefined;
  private hasWarned = false;

  constructor(private readonly options: LeaseKeeperOptions) {
    const { ttrMs } = options;
    this.tickMs = Math.min(MAX_TICK_MS, Math.max(MIN_TICK_MS, ttrMs / TICKS));
    this.attemptMs = Math.min(MAX_ATTEMPT_MS, Math.max(MIN_ATTEMPT_MS, ttrMs * ATTEMPT_PART));
  }

  add(held: HeldJob): void {
    this.held.add(held);
  }

  /** Begins with a first heartbeat: the session is listed. */
  start(): void {
    this.options.guard.begin(this.tickMs);
    this.timer = setInterval(() => this.tick(), this.tickMs);
    if (this.options.driver.keepsProcess === false) this.timer.unref();
    this.tick();
  }

  /** Ends the session. It is no harm if that fails: it is lost after its lease, and forgotten later. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    const { driver, session } = this.options;
    // A heartbeat that arrives behind the end would begin the session again.
    // guard: client-session-ends-last
    await this.beating;
    // guard: client-session-ends
    await driver.endSession(session.id).catch(() => undefined);
  }

  /** True if no heartbeat was answered for so long that another worker may have the job soon. */
  isDoubtful({ confirmedMs }: HeldJob): boolean {
    return clock.nowMs() - confirmedMs > this.options.ttrMs * UNCONFIRMED_PART;
  }

  /**
   * Extends one lease now. Without an answer, half of what is left of the lease remains to give the job back.
   *
   * @returns true if that was answered, and the lease is there
   */
  async confirm(held: HeldJob): Promise<boolean> {
    const beforeMs = held.confirmedMs;
    const leftMs = this.options.ttrMs - (clock.nowMs() - beforeMs);
    const halfMs = leftMs > 0 ? Math.max(MIN_ATTEMPT_MS, leftMs / 2) : this.attemptMs;
    await this.extend(held, Math.min(this.attemptMs, halfMs));
    return held.confirmedMs > beforeMs;
  }

  /** Says that its handler begins: `maxRunMs` counts from here. Without an answer the handler begins all the same. */
  async begin(held: HeldJob, maxRunMs: number | undefined): Promise<void> {
    await this.extend(held, this.attemptMs, { maxRunMs });
    held.begin(clock.nowMs());
  }

  remove(held: HeldJob): void {
    this.held.delete(held);
    stored(held.progress);
    held.progress = undefined;
  }

  /** Stores this progress, as soon as that of an earlier call is stored. */
  progress(held: HeldJob, value: unknown): Promise<void> {
    if (!this.held.has(held)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      held.progress = { value, waiting: [...(held.progress?.waiting ?? []), { resolve, reject }] };
      if (!held.isStoringProgress) void this.extend(held);
    });
  }

  private tick(): void {
    const { guard } = this.options;
    guard.tick(this.held.size > 0);
    const nowMs = clock.nowMs();
    for (const held of this.held) {
      // guard: client-unanswered-heartbeat-aborts
      if (this.isDoubtful(held)) held.abort('lease_unconfirmed');
      // guard: client-run-end-aborts
      if (nowMs >= held.runEndsMs) lost(held, 'max_run_exceeded');
      const isDue = held.progress !== undefined && nowMs >= held.progressDueMs;
      if (isDue && !held.isStoringProgress) void this.extend(held);
    }
    if (nowMs < this.nextHeartbeatMs || this.beating !== undefined) return;
    this.beating = this.beat().finally(() => (this.beating = undefined));
  }

  /** A heartbeat of the session, with all leases that it has. */
  private async beat(): Promise<void> {
    const { ttrMs } = this.options;
    const all = [...this.held].filter(({ isLost }) => !isLost);
    const parts = [all.slice(0, MAX_LEASES)];
    for (let at = MAX_LEASES; at < all.length; at += MAX_LEASES) parts.push(all.slice(at, at + MAX_LEASES));
    // The server records what the last part says.
    const jobsAtHand = /* guard: heartbeat-parts-name-all-jobs */ parts.length === 1 ? undefined : all.length;
    const areAnswered = await Promise.all(parts.map((part) => this.beatFor(part, jobsAtHand)));
    const pauseMs = areAnswered.every((isAnswered) => isAnswered)
      ? ttrMs * HEARTBEAT_PART * (1 - JITTER + 2 * JITTER * Math.random())
      : ttrMs * /* guard: lost-heartbeat-is-sent-soon */ AGAIN_PART;
    this.nextHeartbeatMs = clock.nowMs() + pauseMs;
  }

  /** @returns false if it was not answered */
  private async beatFor(all: readonly HeldJob[], jobsAtHand: number | undefined): Promise<boolean> {
    const { driver, session, queues, ttrMs } = this.options;
    const sentMs = clock.nowMs();
    let answer: SessionAnswer;
    try {
      answer = await driver.heartbeatSession({
        ...{ session: session.id, info: { ...session.info, queues: queues() } },
        ...{ ttrMs, timeoutMs: this.attemptMs },
        ...{ leases: all.map(({ job }) => job), jobsAtHand },
      });
    } catch (error) {
      this.warnRefused(error);
      return false;
    }
    all.forEach((held, i) => this.took(held, answer.leases[i], sentMs));
    // guard: client-obeys-quiet
    if (answer.quiet) this.options.onRequest('quiet');
    // guard: client-obeys-stop
    if (answer.stop) this.options.onRequest('stop');
    return true;
  }

  private took(held: HeldJob, extended: ExtendedLease | undefined, sentMs: number): void {
    if (extended?.status !== 'extended') {
      lost(held);
      return;
    }
    // A heartbeat of the job alone may have been sent after this one.
    held.confirmedMs = Math.max(held.confirmedMs, sentMs);
    // guard: client-cancel-aborts
    if (extended.cancelRequested) held.abort('cancelled');
  }

  /**
   * Once: a refusal that passes is not worth a line, and one that stays would fill the log. Not without leases: what refuses a first heartbeat, a
   * wrong token for example, refuses the first lease request too, and `run` throws that error.
   */
  private warnRefused(error: unknown): void {
    if (this.hasWarned || this.held.size === 0 || (isPumphouseError(error) && error.retryable)) return;
    this.hasWarned = true;
    this.options.logger.error('the heartbeats of this worker are refused: its leases will end', {
      error: errorText(error),
    });
  }

  /** One heartbeat of one job, with the progress that waits to be stored. */
  private async extend(
    held: HeldJob,
    timeoutMs = this.attemptMs,
    begin?: HeartbeatCall['begin'],
  ): Promise<void> {
    const { progress } = held;
    const { driver, ttrMs } = this.options;
    held.progress = undefined;
    held.isStoringProgress = true;
    let isStored = false;
    const sentMs = clock.nowMs();
    const options = { ttrMs, timeoutMs, begin };
    try {
      const { cancelRequested } = await driver.heartbeat(
        held.job,
        progress ? { ...options, progress: progress.value } : options,
      );
      held.confirmedMs = Math.max(held.confirmedMs, sentMs);
      if (cancelRequested) held.abort('cancelled');
      stored(progress);
      isStored = true;
    } catch (error) {
      held.progressDueMs = clock.nowMs() + ttrMs * AGAIN_PART;
      if (isPumphouseError(error, 'lease_lost', 'job_not_found')) {
        lost(held);
        stored(progress);
      } else if (progress) this.again(held, progress, error);
    }
    held.isStoringProgress = false;
    if (isStored && hasProgress(held)) void this.extend(held);
  }

  /** Progress that was not stored is sent again, unless the server refuses it. */
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
}

/** Of a job whose ack is on its way the answer to the ack counts: a heartbeat that comes behind it finds no job. */
function lost(held: HeldJob, code: AbortCode = 'lease_lost'): void {
  if (held.state === 'settling' || held.state === 'gone') return;
  // guard: client-lost-lease-aborts
  held.abort(code);
}

/** New progress may have come while a heartbeat was in flight. */
function hasProgress({ progress }: HeldJob): boolean {
  return progress !== undefined;
}

function stored(progress: Progress | undefined): void {
  for (const { resolve } of progress?.waiting ?? []) resolve();
}
