import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LeasedJob } from '../domain/job/job.js';
import {
  type ConnectionWatcher,
  hasHungUp,
  isBroken,
  mayWait,
  unwatchConnection,
  watchConnection,
} from '../http/request/connection.js';

/**
 * Follows one response that carries leases until the operating system has taken all of it. If the client disconnects
 * before that, it got nothing: its wait ends and the leases must be undone.
 *
 * A client that has closed its sending side counts as gone: it may have closed the whole connection, and then the
 * response would be lost without an error. It gets a response without jobs.
 */
export class Delivery implements ConnectionWatcher {
  private controller: AbortController | undefined = undefined;
  private settle: ((hasLeft: boolean) => void) | undefined = undefined;
  private isWatching = false;

  constructor(private readonly socket: Socket) {}

  /**
   * Aborted when the client disconnects or may no longer wait (see `mayWait`). Created only for requests that wait: it
   * costs as much as the bookkeeping of the wait.
   */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (mayWait(this.socket)) this.watch();
    else this.controller.abort();
    return this.controller.signal;
  }

  /** True if the client must not be given a lease. */
  get isGone(): boolean {
    return hasHungUp(this.socket);
  }

  /**
   * Calls `settle` once: with true when the operating system has taken all of the response that was just ended, with
   * false if the client disconnects first. Calls it at once with false if the client is gone or the response was not
   * ended. Usually the system has taken everything already, and nothing needs to be watched.
   */
  guard(response: ServerResponse, settle: (hasLeft: boolean) => void): void {
    if (this.socket.destroyed || /* guard: delivery-undoes-on-error */ !response.writableEnded) {
      this.done();
      settle(false);
      return;
    }
    if (/* guard: delivery-done-when-flushed */ response.writableLength === 0 && this.socket.writable) {
      this.done();
      // guard: delivery-confirms
      settle(true);
      return;
    }
    this.settle = settle;
    this.watch();
    response.once('finish', () => {
      // Then the close event decides.
      if (isBroken(this.socket)) return;
      this.done();
      settle(true);
    });
  }

  /** Stops watching the connection. */
  done(): void {
    this.settle = undefined;
    if (!this.isWatching) return;
    this.isWatching = false;
    unwatchConnection(this.socket, this);
  }

  connectionClosed(): void {
    this.isWatching = false;
    this.controller?.abort();
    // guard: delivery-undoes-on-close
    this.settle?.(false);
    this.settle = undefined;
  }

  waitEnds(): void {
    this.controller?.abort();
  }

  private watch(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    watchConnection(this.socket, this);
  }
}

/**
 * Confirms that jobs have reached the client. Confirms each batch once: during a pool migration one response may hold
 * jobs of two.
 */
export function confirmDelivery(jobs: readonly LeasedJob[]): void {
  let confirmed: LeasedJob['receipt'];
  for (const { receipt } of jobs) {
    if (receipt !== confirmed) receipt?.arrived();
    confirmed = receipt;
  }
}
