/**
 * Keeps the timeouts of an engine's loops, at most one per name. They need not keep the process alive: the connections
 * of the pool do.
 */
export interface Timers {
  /** Calls `fire` once, after `delayMs`. Cancels a pending timeout of that name. */
  set(name: string, delayMs: number, fire: () => void): void;
  /** Cancels the pending timeout of that name, if any. */
  clear(name: string): void;
}

/** Plain timeouts of Node. */
export class NodeTimers implements Timers {
  private readonly pending = new Map<string, NodeJS.Timeout>();

  set(name: string, delayMs: number, fire: () => void): void {
    clearTimeout(this.pending.get(name));
    const timeout = setTimeout(() => {
      this.pending.delete(name);
      fire();
    }, delayMs);
    this.pending.set(name, timeout.unref());
  }

  clear(name: string): void {
    clearTimeout(this.pending.get(name));
    this.pending.delete(name);
  }
}
