import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { QueueError } from '../domain/errors.js';
import { MAX_TIMER_MS } from '../domain/limits.js';
import { noteRepeat } from './lost-replies.js';
import { faultOf, isStateOfRedis, type RedisFault, toQueueError, unavailable } from './errors.js';
import type { Arg } from './scripts/script.js';
import type { Send } from './set-up.js';

/** First and longest pause before a call is retried, in milliseconds. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** Options of a call. */
export interface CallRules {
  /** The call may be sent again when it is unknown whether it ran. */
  readonly repeatable: boolean;
  /** Receives a reply that arrives after the caller got an error. */
  readonly late?: ((reply: unknown) => void) | undefined;
}

/**
 * The calls of one pool in progress. Each settles within the timeout, whatever the driver does: with resending off,
 * ioredis never settles a command whose connection was lost.
 */
export class Calls {
  private readonly underWay = new Set<(error: Error) => void>();
  private isClosed = false;
  /** What Redis itself said last, and when: the errors of the driver that follow say less. */
  private stateError: { readonly error: unknown; readonly atMs: number } | undefined;

  /** @param onFault is called for each call that failed for good */
  constructor(
    private readonly pool: string,
    private readonly timeoutMs: number,
    private readonly onFault: (fault: RedisFault) => void,
  ) {}

  /**
   * Retries until the call succeeds, fails for good, or the time is over.
   *
   * @throws {QueueError} `pool_unavailable`, `store_full` or `disk_full`; or the error of `send`, if it is not a fault
   *   of the store
   */
  async persist(send: () => Promise<unknown>, { repeatable, late }: CallRules): Promise<unknown> {
    const deadline = performance.now() + this.timeoutMs;
    let mayHaveRun = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const reply = await this.attempt(send, deadline - performance.now(), late);
        if (mayHaveRun) noteRepeat(reply);
        return reply;
      } catch (error) {
        const fault = faultOf(error);
        this.note(error);
        mayHaveRun ||= fault === 'unknown';
        const again = fault === 'not_run' || (fault === 'unknown' && repeatable);
        if (!again || performance.now() + pauseMs >= deadline || this.isClosed) {
          this.onFault(fault);
          throw this.errorOf(error);
        }
        await sleep(pauseMs);
      }
    }
  }

  /** Sends commands over a connection, each once. */
  over(connection: Redis): Send {
    return (...args) => this.attempt(() => connection.call(...(args as [string, ...Arg[]])));
  }

  /** Sends once. @throws {QueueError} `pool_unavailable` when the time is over; or the error of `send` */
  attempt(
    send: () => Promise<unknown>,
    withinMs = this.timeoutMs,
    late?: (reply: unknown) => void,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = (): boolean => {
        if (isSettled) return false;
        isSettled = true;
        clearTimeout(timer);
        this.underWay.delete(fail);
        return true;
      };
      const fail = (error: Error): void => {
        if (settle()) reject(error);
      };
      const limitMs = /* guard: own-deadline-ends-a-call */ Math.min(Math.max(withinMs, 1), MAX_TIMER_MS);
      const timer = setTimeout(() => fail(unavailable(this.pool)), limitMs);
      this.underWay.add(fail);
      send().then(
        (reply) => {
          if (settle()) resolve(reply);
          else /* guard: late-reply-is-undone */ late?.(reply);
        },
        (error: unknown) => fail(error instanceof Error ? error : new Error(String(error))),
      );
    });
  }

  /** Remembers an error in which Redis says why it cannot be used now. */
  note(error: unknown): void {
    if (isStateOfRedis(error)) this.stateError = { error, atMs: performance.now() };
  }

  /** The domain's error; where there is no connection, with what Redis said before it was lost. */
  private errorOf(error: unknown): unknown {
    const known = toQueueError(this.pool, error);
    if (!(known instanceof QueueError) || known.code !== 'pool_unavailable') return known;
    const { error: reason, atMs = Number.NEGATIVE_INFINITY } = this.stateError ?? {};
    const isRecent = performance.now() - atMs < 2 * this.timeoutMs;
    return isRecent ? unavailable(this.pool, reason) : known;
  }

  /** Fails all calls in progress, because their connection is lost. */
  failAll(reason: string): void {
    for (const fail of [...this.underWay]) fail(new Error(reason));
  }

  /** Fails all calls in progress; later ones are tried once. */
  close(): void {
    this.isClosed = true;
    this.failAll('the pool was closed');
  }
}

/** How long a sample of Redis's clock is used before a less precise one may replace it, in milliseconds. */
const SAMPLE_LIFE_MS = 10_000;
/**
 * Tolerance between two samples in addition to their round trips: Redis's times are whole milliseconds, and clocks
 * drift.
 */
const SLACK_MS = 2;
/** As AHEAD_MS in lua/modules/timers/served_slots.lua. */
const SET_BACK_MS = 5_000;

/**
 * Estimates Redis's clock from the times in its replies: this machine's clock may be wrong by hours. It uses the sample
 * with the shortest round trip of the last ten seconds, whose error is at most half of that. A sample that contradicts
 * it is used at once: Redis's clock was stepped, or another Redis has taken over.
 */
export class RedisClock {
  /** Called when the clock has been set back by more than corrections of clocks do. */
  readonly whenSetBack = new Set<() => void>();
  private offsetMs = Date.now() - performance.now();
  private roundTripMs = Number.POSITIVE_INFINITY;
  private takenAtMs = 0;
  private slowestMs = 0;

  /**
   * Adds the sample of a reply: when its request was sent and received (`performance.now()`), and Redis's Unix ms in
   * it.
   */
  sample(sentMs: number, receivedMs: number, redisMs: number): void {
    const roundTripMs = receivedMs - sentMs;
    if (roundTripMs > this.slowestMs) this.slowestMs = roundTripMs;
    const offsetMs = redisMs + 0.5 - (sentMs + receivedMs) / 2;
    const isWorse = roundTripMs > this.roundTripMs && receivedMs - this.takenAtMs < SAMPLE_LIFE_MS;
    const agrees = Math.abs(offsetMs - this.offsetMs) <= (roundTripMs + this.roundTripMs) / 2 + SLACK_MS;
    if (isWorse && agrees) return;
    const backMs = this.offsetMs - offsetMs;
    this.roundTripMs = roundTripMs;
    this.takenAtMs = receivedMs;
    // guard: clock-of-redis-counts
    this.offsetMs = offsetMs;
    if (/* guard: clock-set-back-is-seen */ backMs > SET_BACK_MS)
      for (const listener of this.whenSetBack) listener();
  }

  /**
   * The longest round trip since the last call of this method, in milliseconds: what a reply says may be so old when it
   * is read.
   */
  takeSlowest(): number {
    const { slowestMs } = this;
    this.slowestMs = 0;
    return slowestMs;
  }

  /** Redis's time now, Unix ms. */
  now(): number {
    return Math.floor(performance.now() + this.offsetMs);
  }
}
