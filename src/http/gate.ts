import { QueueError } from '../domain/errors.js';
import type { FloodMetrics } from '../metrics/flood-metrics.js';

/** How much of everything one process takes on at a time. */
export interface GateLimits {
  /** Requests that were let in and are not answered, long polls that wait aside. */
  readonly maxInFlight: number;
  /** Bytes of the bodies of such requests. */
  readonly maxBodyBytes: number;
  /** Long polls that wait. */
  readonly maxWaiters: number;
  /** Those of one token. */
  readonly maxWaitersPerToken: number;
}

/** What an exchange counts as; `first` is in flight too, and goes first. */
export type Load = 'none' | 'in_flight' | 'first' | 'waiting';

/** What the gate must know of an exchange. */
export interface Loading {
  load: Load;
  /** Bytes of its body that count. */
  bodyBytes: number;
  readonly admitted: { readonly tokenId: string } | undefined;
}

/** From this share of the bound on, only requests that go first are let in. */
const USUAL_SHARE = 0.75;

/**
 * Bounds what is under way in one process, so that a flood is refused at once instead of being served too late, and takes no more
 * memory than was meant for it. Counters only: no timer, no queue of its own.
 */
export class Gate {
  private readonly maxUsual: number;
  private readonly maxUsualBytes: number;
  private waiters = 0;
  private readonly waitersOf = new Map<string, number>();

  /** @param metrics hold the count of what is in flight, and hear of each refusal */
  constructor(
    private readonly limits: GateLimits,
    private readonly metrics: FloodMetrics,
  ) {
    this.maxUsual = Math.max(1, Math.floor(limits.maxInFlight * USUAL_SHARE));
    this.maxUsualBytes = Math.floor(limits.maxBodyBytes * USUAL_SHARE);
  }

  /**
   * Counts a request as in flight, until `leave`.
   *
   * @param goesFirst it may use the room that is kept for those who let go of what is held
   * @throws {QueueError} `overloaded`
   */
  enter(exchange: Loading, goesFirst: boolean): void {
    const { inFlight, refused } = this.metrics;
    if (inFlight.value >= (goesFirst ? this.limits.maxInFlight : this.maxUsual)) {
      refused.in_flight.value += 1;
      throw new QueueError('overloaded', 'too many requests are under way');
    }
    inFlight.value += 1;
    exchange.load = goesFirst ? 'first' : 'in_flight';
  }

  /**
   * Counts bytes of a request's body, before they are read, until `leave`. A body that is larger than the bound is let in when there is
   * no other.
   *
   * @throws {QueueError} `overloaded`: the bodies of what is in flight have as many as they may
   */
  hold(exchange: Loading, bytes: number): void {
    const { bodyBytes, refused } = this.metrics;
    const others = bodyBytes.value - exchange.bodyBytes;
    const most = exchange.load === 'first' ? this.limits.maxBodyBytes : this.maxUsualBytes;
    if (others > 0 && bodyBytes.value + bytes > most) {
      refused.body_bytes.value += 1;
      throw new QueueError('overloaded', 'too many bytes of bodies are under way');
    }
    bodyBytes.value += bytes;
    exchange.bodyBytes += bytes;
  }

  /**
   * Counts a request as one that waits, and no longer as in flight, until `leave`.
   *
   * @throws {QueueError} `too_many_waiters`: its token has as many as it may; `overloaded`: the process has
   */
  rest(exchange: Loading): void {
    const { refused } = this.metrics;
    const tokenId = exchange.admitted?.tokenId ?? '';
    const own = this.waitersOf.get(tokenId) ?? 0;
    if (own >= this.limits.maxWaitersPerToken) {
      refused.token_waiters.value += 1;
      throw new QueueError('too_many_waiters', 'too many consumers of this token wait, please retry later');
    }
    if (this.waiters >= this.limits.maxWaiters) {
      refused.waiters.value += 1;
      throw new QueueError('overloaded', 'too many consumers wait');
    }
    this.leave(exchange);
    this.waiters += 1;
    this.waitersOf.set(tokenId, own + 1);
    exchange.load = 'waiting';
  }

  /** Counts a request no more. May be called again. */
  leave(exchange: Loading): void {
    if (exchange.load === 'none') return;
    if (exchange.load === 'waiting') this.stopWaiting(exchange.admitted?.tokenId ?? '');
    else this.metrics.inFlight.value -= 1;
    exchange.load = 'none';
    this.metrics.bodyBytes.value -= exchange.bodyBytes;
    exchange.bodyBytes = 0;
  }

  private stopWaiting(tokenId: string): void {
    this.waiters -= 1;
    const own = this.waitersOf.get(tokenId) ?? 0;
    if (own > 1) this.waitersOf.set(tokenId, own - 1);
    else this.waitersOf.delete(tokenId);
  }
}
