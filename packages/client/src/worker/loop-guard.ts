import { clock } from './clock.js';
import type { Logger } from './logger.js';

/** A part of the lease: so long a block of the event loop delays heartbeats by too much. */
const LATE_PART = 0.1;

/** Finds blocks of the event loop, which stop the heartbeats of all jobs, and names the handlers that may have caused them. */
export class LoopGuard {
  private readonly lateMs: number;
  /** Handlers that run, by name, and those that have run since the last tick. */
  private readonly running = new Map<string, number>();
  private readonly recent = new Set<string>();
  private expectedMs = 0;
  private tickMs = 0;
  /** When the last block that has been reported ended. */
  private reportedMs = 0;
  /** When the last late tick came. */
  private lateTickMs = -Infinity;

  constructor(
    ttrMs: number,
    private readonly logger: Logger,
  ) {
    this.lateMs = ttrMs * LATE_PART;
  }

  begin(tickMs: number): void {
    this.tickMs = tickMs;
    this.expectedMs = clock.nowMs() + tickMs;
  }

  /** True if the process stood still for a part of the lease at some time since then. */
  stoodStillSince(ms: number): boolean {
    return this.lateTickMs >= ms || clock.nowMs() - this.expectedMs > this.lateMs;
  }

  /** To be called every `tickMs`. */
  tick(holdsJobs: boolean): void {
    const nowMs = clock.nowMs();
    const lateMs = nowMs - this.expectedMs;
    if (lateMs > this.lateMs) this.lateTickMs = nowMs;
    if (lateMs > this.lateMs && holdsJobs && this.reportedMs < this.expectedMs) {
      this.report(lateMs, [...new Set([...this.running.keys(), ...this.recent])]);
    }
    this.recent.clear();
    this.expectedMs = nowMs + this.tickMs;
  }

  entered(name: string): void {
    this.running.set(name, (this.running.get(name) ?? 0) + 1);
  }

  /** Calls a handler; what it does before its first `await` is measured by itself. */
  run<T>(name: string, handler: () => T): T {
    const begunMs = clock.nowMs();
    try {
      return handler();
    } finally {
      const tookMs = clock.nowMs() - begunMs;
      if (tookMs > this.lateMs) this.report(tookMs, [name]);
    }
  }

  left(name: string): void {
    const others = (this.running.get(name) ?? 1) - 1;
    if (others === 0) this.running.delete(name);
    else this.running.set(name, others);
    this.recent.add(name);
  }

  private report(blockedMs: number, handlers: readonly string[]): void {
    this.reportedMs = clock.nowMs();
    this.logger.warn('the event loop was blocked, and no heartbeat could be sent', {
      blockedMs: Math.round(blockedMs),
      handlers,
    });
  }
}
