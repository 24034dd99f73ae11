import type { Socket } from 'node:net';
import { watchConnection } from '../http/connection.js';

/**
 * Follows one answer that carries leases until the operating system has it. A client that goes before that was given nothing:
 * its wait ends, and what was leased for it must be undone.
 */
export class Delivery {
  private controller: AbortController | undefined;
  private isGone: boolean;
  private undo: (() => void) | undefined;
  private readonly unwatch: () => void;

  constructor(private readonly socket: Socket) {
    this.isGone = socket.destroyed;
    this.unwatch = watchConnection(socket, () => this.gone());
  }

  /** Aborted when the client goes. Made only for those who wait: it costs as much as the wait's bookkeeping. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.isGone) this.controller.abort();
    return this.controller.signal;
  }

  /** Has `undo` called if the client goes before `done`, or has gone already; then returns false: there is nobody to answer. */
  guard(undo: () => void): boolean {
    if (this.isGone) undo();
    else this.undo = undo;
    return !this.isGone;
  }

  /**
   * For the end of the response: Node calls it too when the connection was destroyed with bytes of the answer still in its hands.
   * Then the connection's close, which follows, decides.
   */
  readonly sent = (): void => {
    if (!this.socket.destroyed) this.done();
  };

  /** There is nothing to guard any more. */
  readonly done = (): void => {
    this.undo = undefined;
    this.unwatch();
  };

  private gone(): void {
    this.isGone = true;
    this.controller?.abort();
    this.undo?.();
    this.undo = undefined;
  }
}
