import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ConnectionWatcher, unwatchConnection, watchConnection } from '../http/connection.js';

/**
 * Follows one answer that carries leases until the operating system has it. A client that goes before that was given nothing:
 * its wait ends, and what was leased for it must be undone.
 */
export class Delivery implements ConnectionWatcher {
  private controller: AbortController | undefined = undefined;
  private undo: (() => void) | undefined = undefined;
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
   * Has `undo` called if the client goes before the operating system has all of an answer that was ended just now; or at once, if the
   * client has gone or the answer did not come about. Mostly the system has it all by now, and there is nothing to watch.
   */
  guard(response: ServerResponse, undo: () => void): void {
    if (this.isGone || !response.writableEnded) {
      this.done();
      undo();
      return;
    }
    if (response.writableLength === 0 && this.socket.writable) {
      this.done();
      return;
    }
    this.undo = undo;
    this.watch();
    // Node calls it too when the connection was destroyed with bytes of the answer still in its hands: then the close decides.
    response.once('finish', () => {
      if (!this.isGone) this.done();
    });
  }

  /** There is nothing to guard any more. */
  done(): void {
    this.undo = undefined;
    if (!this.isWatching) return;
    this.isWatching = false;
    unwatchConnection(this.socket, this);
  }

  connectionClosed(): void {
    this.isWatching = false;
    this.controller?.abort();
    this.undo?.();
    this.undo = undefined;
  }

  private watch(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    watchConnection(this.socket, this);
  }
}
