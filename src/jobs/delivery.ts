import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LeasedJob } from '../domain/job.js';
import { type ConnectionWatcher, unwatchConnection, watchConnection } from '../http/connection.js';

/**
 * Follows one answer that carries leases until the operating system has it. A client that goes before that was given nothing:
 * its wait ends, and what was leased for it must be undone.
 */
export class Delivery implements ConnectionWatcher {
  private controller: AbortController | undefined = undefined;
  private settle: ((hasLeft: boolean) => void) | undefined = undefined;
  private isWatching = false;

  constructor(private readonly socket: Socket) {}

  /** Aborted when the client goes. Made only for those who wait: it costs as much as the wait's bookkeeping. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.isGone) this.controller.abort();
    else this.watch();
    return this.controller.signal;
  }

  /** True if nobody is there to answer. */
  get isGone(): boolean {
    return this.socket.destroyed;
  }

  /**
   * Has `settle` called once, with true when the operating system has all of an answer that was ended just now, with false if the client
   * goes before; or at once with false, if the client has gone or the answer did not come about. Mostly the system has it all by now,
   * and there is nothing to watch.
   */
  guard(response: ServerResponse, settle: (hasLeft: boolean) => void): void {
    if (this.isGone || !response.writableEnded) {
      this.done();
      settle(false);
      return;
    }
    if (response.writableLength === 0 && this.socket.writable) {
      this.done();
      settle(true);
      return;
    }
    this.settle = settle;
    this.watch();
    // Node calls it too when the connection was destroyed with bytes of the answer still in its hands: then the close decides.
    response.once('finish', () => {
      if (this.isGone) return;
      this.done();
      settle(true);
    });
  }

  /** There is nothing to guard any more. */
  done(): void {
    this.settle = undefined;
    if (!this.isWatching) return;
    this.isWatching = false;
    unwatchConnection(this.socket, this);
  }

  connectionClosed(): void {
    this.isWatching = false;
    this.controller?.abort();
    this.settle?.(false);
    this.settle = undefined;
  }

  private watch(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    watchConnection(this.socket, this);
  }
}

/** Says that jobs have reached their consumer. Of each batch once: while a pool moves, an answer may have jobs of two. */
export function tellOfArrival(jobs: readonly LeasedJob[]): void {
  let told: LeasedJob['receipt'];
  for (const { receipt } of jobs) {
    if (receipt !== told) receipt?.arrived();
    told = receipt;
  }
}
