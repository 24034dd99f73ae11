const TICK_MS = 5;

/** Measures for how long this process was ready to run and got no CPU: a timer came late, and the process did nothing meanwhile. */
export class Starvation {
  private readonly stalls: { readonly endMs: number; readonly ms: number }[] = [];
  private tickedMs = performance.now();
  private cpu = process.cpuUsage();
  private readonly timer = setInterval(() => this.tick(), TICK_MS).unref();

  /** @returns milliseconds of it since this time of `performance.now()` */
  since(ms: number): number {
    this.tick();
    return this.stalls
      .filter(({ endMs }) => endMs > ms)
      .reduce((sum, stall) => sum + Math.min(stall.ms, stall.endMs - ms), 0);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const nowMs = performance.now();
    const { user, system } = process.cpuUsage(this.cpu);
    const ms = nowMs - this.tickedMs - TICK_MS - (user + system) / 1_000;
    // Less is the usual lateness of timers.
    if (ms > TICK_MS) this.stalls.push({ endMs: nowMs, ms });
    this.cpu = process.cpuUsage();
    this.tickedMs = nowMs;
  }
}

/** A span of time as it were on an idle machine: a pause counts in full, and what this process does; that it got no CPU does not. */
export class OwnTime {
  private readonly starvation = new Starvation();
  private readonly begunMs = performance.now();

  /** Ends the span. @returns milliseconds */
  end(): number {
    const starvedMs = this.starvation.since(this.begunMs);
    this.starvation.stop();
    return performance.now() - this.begunMs - starvedMs;
  }
}
