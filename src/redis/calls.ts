import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { faultOf, toQueueError, unavailable, type RedisFault } from './errors.js';

/** First and longest pause before a call is tried again, in milliseconds. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** How a call is to be treated. */
export interface CallRules {
  /** It may be sent again when nobody knows whether it ran. */
  readonly repeatable: boolean;
  /** Hears a reply that came after the caller was told of failure. */
  readonly late?: ((reply: unknown) => void) | undefined;
}

/**
 * The calls of one pool that are under way. Each settles within the time-out, whatever the driver does: with resending off, ioredis
 * never settles a command whose connection was lost.
 */
export class Calls {
  private readonly underWay = new Set<(error: Error) => void>();
  private isClosed = false;

  /** @param onFault hears of each call that failed for good */
  constructor(
    private readonly pool: string,
    private readonly timeoutMs: number,
    private readonly onFault: (fault: RedisFault) => void,
  ) {}

  /**
   * Tries until it worked, it failed for good, or the time is over.
   *
   * @throws {QueueError} `pool_unavailable`, `store_full` or `disk_full`; or what `send` throws, if it is no fault of the store
   */
  async persist(send: () => Promise<unknown>, { repeatable, late }: CallRules): Promise<unknown> {
    const deadline = performance.now() + this.timeoutMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.attempt(send, deadline - performance.now(), late);
      } catch (error) {
        const fault = faultOf(error);
        const again = fault === 'not_run' || (fault === 'unknown' && repeatable);
        if (!again || performance.now() + pauseMs >= deadline || this.isClosed) {
          this.onFault(fault);
          throw toQueueError(this.pool, error);
        }
        await sleep(pauseMs);
      }
    }
  }

  /** Sends once. @throws {QueueError} `pool_unavailable` when the time is over; or what `send` throws */
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
      const timer = setTimeout(() => fail(unavailable(this.pool)), Math.max(withinMs, 1));
      this.underWay.add(fail);
      send().then(
        (reply) => {
          if (settle()) resolve(reply);
          else late?.(reply);
        },
        (error: unknown) => fail(error instanceof Error ? error : new Error(String(error))),
      );
    });
  }

  /** Fails all that is under way: its connection is gone. */
  failAll(reason: string): void {
    for (const fail of [...this.underWay]) fail(new Error(reason));
  }

  /** Fails all that is under way; what comes later is tried once. */
  close(): void {
    this.isClosed = true;
    this.failAll('the pool was closed');
  }
}
