import { QueueError } from '../../domain/errors.js';
import type { FloodMetrics } from '../../metrics/flood-metrics.js';

/** Load limits of one process. */
export interface LoadLimits {
  /** Requests that are admitted and not answered yet, without waiting long polls. */
  readonly maxInFlight: number;
  /** Bytes of the bodies of such requests. */
  readonly maxBodyBytes: number;
  /** Waiting long polls. */
  readonly maxWaiters: number;
  /** Waiting long polls per token. */
  readonly maxWaitersPerToken: number;
}

/** No limit. */
export const UNLIMITED: LoadLimits = {
  maxInFlight: Infinity,
  maxBodyBytes: Infinity,
  maxWaiters: Infinity,
  maxWaitersPerToken: Infinity,
};

/** How a request is counted; `first` is in flight too, but has priority. */
export type Load = 'none' | 'in_flight' | 'first' | 'waiting';

/** What the load shedder needs of a request context. */
export interface Loading {
  load: Load;
  /** Bytes of its body that are counted. */
  bodyBytes: number;
  readonly admitted: { readonly tokenId: string } | undefined;
}

/** Above this share of a limit, only requests with priority are admitted. */
const USUAL_SHARE = 0.75;
/**
 * One token has this share of the bytes of bodies at most, and of those for usual requests: it may announce them, and not
 * send them for a while. So its own acknowledgements have room, too.
 */
const TOKEN_SHARE = 0.5;

/**
 * Limits the work in progress of one process: a flood is rejected at once instead of being served too late, and takes
 * no more memory than planned. Counters only: no timer, no queue of its own.
 */
export class LoadShedder {
  private readonly maxUsual: number;
  private readonly maxUsualBytes: number;
  private waiters = 0;
  private readonly waitersOf = new Map<string, number>();
  private readonly bytesOf = new Map<string, number>();

  /** @param metrics stores the number of requests in flight, and counts rejections */
  constructor(
    private readonly limits: LoadLimits,
    private readonly metrics: FloodMetrics,
  ) {
    this.maxUsual = Math.max(1, Math.floor(limits.maxInFlight * USUAL_SHARE));
    this.maxUsualBytes = Math.floor(limits.maxBodyBytes * USUAL_SHARE);
  }

  /**
   * Counts a request as in flight, until `release`.
   *
   * @param goesFirst it may use the capacity reserved for requests that free resources
   * @throws {QueueError} `overloaded`
   */
  acquire(context: Loading, goesFirst: boolean): void {
    const { inFlight, refused } = this.metrics;
    if (inFlight.value >= (goesFirst ? this.limits.maxInFlight : /* guard: acks-have-room */ this.maxUsual)) {
      refused.in_flight.value += 1;
      throw new QueueError('overloaded', 'too many requests in progress');
    }
    inFlight.value += 1;
    context.load = goesFirst ? 'first' : 'in_flight';
  }

  /**
   * Counts bytes of a request's body, before they are read, until `release`. A body larger than the limit is admitted
   * if there is no other, one larger than the share of its token if that has no other.
   *
   * @throws {QueueError} `overloaded`: the bodies of requests in flight, or those of this token, have reached the limit;
   *   `invalid_argument`: see `park`
   */
  reserveBytes(context: Loading, bytes: number): void {
    checkUnderWay(context);
    const { bodyBytes, refused } = this.metrics;
    const others = bodyBytes.value - context.bodyBytes;
    const most =
      // guard: acks-have-room-for-bodies
      context.load === 'first' ? this.limits.maxBodyBytes : this.maxUsualBytes;
    if (others > 0 && bodyBytes.value + bytes > most) {
      refused.body_bytes.value += 1;
      throw new QueueError('overloaded', 'too many bytes of request bodies in progress');
    }
    const tokenId = context.admitted?.tokenId ?? '';
    const own = this.bytesOf.get(tokenId) ?? 0;
    // guard: body-bytes-of-a-token-are-bounded
    if (own > context.bodyBytes && own + bytes > most * TOKEN_SHARE) {
      refused.body_bytes.value += 1;
      throw new QueueError('overloaded', 'too many bytes of request bodies in progress', {
        detail: `the bodies of requests of this token have ${String(own)} bytes, and may have half of what all have together (server.max_body_bytes_in_flight, and three quarters of it for all but acknowledgements): repeat the request after Retry-After`,
      });
    }
    bodyBytes.value += bytes;
    context.bodyBytes += bytes;
    this.bytesOf.set(tokenId, own + bytes);
  }

  /**
   * Counts a request as waiting, and no longer as in flight, until `release`.
   *
   * @throws {QueueError} `too_many_waiters`: its token has reached its limit; `overloaded`: the process has;
   *   `invalid_argument`: it is not counted any more, because its client has disconnected
   */
  park(context: Loading): void {
    checkUnderWay(context);
    const { refused } = this.metrics;
    const tokenId = context.admitted?.tokenId ?? '';
    const own = this.waitersOf.get(tokenId) ?? 0;
    // guard: waiters-of-a-token-are-bounded
    if (own >= this.limits.maxWaitersPerToken) {
      refused.token_waiters.value += 1;
      throw new QueueError('too_many_waiters', 'too many long polls of this token, please retry later', {
        detail: `the token has ${String(own)} long polls in this process, its limit (limits.max_waiters_per_token): repeat the request after Retry-After, or lease with fewer requests`,
      });
    }
    // guard: waiters-are-bounded
    if (this.waiters >= this.limits.maxWaiters) {
      refused.waiters.value += 1;
      throw new QueueError('overloaded', 'too many long polls');
    }
    this.release(context);
    this.waiters += 1;
    this.waitersOf.set(tokenId, own + 1);
    context.load = 'waiting';
  }

  /** Stops counting a request. May be called again. */
  release(context: Loading): void {
    if (context.load === 'none') return;
    if (context.load === 'waiting') this.stopWaiting(context.admitted?.tokenId ?? '');
    else this.metrics.inFlight.value -= 1;
    context.load = 'none';
    // guard: body-bytes-released
    this.metrics.bodyBytes.value -= context.bodyBytes;
    if (context.bodyBytes > 0) this.dropBytes(context.admitted?.tokenId ?? '', context.bodyBytes);
    context.bodyBytes = 0;
  }

  private dropBytes(tokenId: string, bytes: number): void {
    const left = (this.bytesOf.get(tokenId) ?? 0) - bytes;
    if (left > 0) this.bytesOf.set(tokenId, left);
    else this.bytesOf.delete(tokenId);
  }

  private stopWaiting(tokenId: string): void {
    this.waiters -= 1;
    const own = this.waitersOf.get(tokenId) ?? 0;
    if (own > 1) this.waitersOf.set(tokenId, own - 1);
    else this.waitersOf.delete(tokenId);
  }
}

/** A request that is counted again after its release would stay counted. */
function checkUnderWay({ load }: Loading): void {
  if (/* guard: ended-request-stays-ended */ load === 'none')
    throw new QueueError('invalid_argument', 'the client has gone');
}
