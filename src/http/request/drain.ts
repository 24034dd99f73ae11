/**
 * Start and shutdown state of a server. While `starting`, `/readyz` fails: the admin port is not open yet. Once `announced`, `/readyz` fails, so that load balancers stop sending requests, and
 * every answer closes its connection, so that clients have left before the listener closes. While `closing`, no client
 * is made to wait.
 */
export class Drain {
  starting = false;
  announced = false;
  closing = false;
  /** When requests in progress must have ended, by the monotonic clock of the process. */
  private endMs = Infinity;

  /** Requests in progress get so long from now on. */
  close(drainMs: number): void {
    this.closing = true;
    this.endMs = performance.now() + drainMs;
  }

  /** What is left of it, in milliseconds. @param drainMs if it does not close */
  leftMs(drainMs: number): number {
    return Math.max(0, Math.min(drainMs, this.endMs - performance.now()));
  }
}
