import { Loop, type LoopOptions } from './loop.js';
import { silentObserver } from '../core/observer.js';
import type { Timers } from './timers.js';

/** Timeouts that fire when the test says so. */
class ManualTimers implements Timers {
  readonly pending = new Map<string, { readonly delayMs: number; readonly fire: () => void }>();

  set(name: string, delayMs: number, fire: () => void): void {
    this.pending.set(name, { delayMs, fire });
  }

  clear(name: string): void {
    this.pending.delete(name);
  }

  /** Fires a timeout, and waits until its effects are done. */
  async fire(name: string): Promise<void> {
    const timeout = this.pending.get(name);
    if (!timeout) throw new Error(`no timeout ${name}`);
    this.pending.delete(name);
    timeout.fire();
    await settled();
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('a loop', () => {
  const TIMER = 'sweep:default';
  let timers: ManualTimers;
  let errors: [name: string, error: unknown][];
  beforeEach(() => {
    timers = new ManualTimers();
    errors = [];
  });

  function make(options: Partial<LoopOptions> = {}): Loop {
    const observer = {
      ...silentObserver,
      loopError: (name: string, error: unknown): void => void errors.push([name, error]),
    };
    const run = (): Promise<number> => Promise.resolve(3);
    const fixed = { name: 'sweep', pool: 'default', timers, observer };
    return new Loop({ ...fixed, run, pauseMs: () => 500, ...options });
  }

  it('reports its next run before its first run', () => {
    const loop = make();
    const idle = { name: 'sweep', lastRunMs: null, durationMs: null, moved: null, lagMs: null };
    expect(loop.status()).toEqual({ ...idle, nextRunMs: null, lastError: null });
    const beforeMs = Date.now();
    loop.schedule(10_000);
    expect(timers.pending.get(TIMER)?.delayMs).toBe(10_000);
    const { nextRunMs } = loop.status();
    expect(nextRunMs).toBeGreaterThan(beforeMs + 9_900);
    expect(nextRunMs).toBeLessThanOrEqual(Date.now() + 10_001);
  });

  it('reports its last run, and schedules the next run', async () => {
    const loop = make();
    loop.schedule(0);
    const beforeMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await timers.fire(TIMER);
    const { lastRunMs, durationMs, moved, lagMs, nextRunMs } = loop.status();
    expect(lastRunMs).toBeGreaterThanOrEqual(beforeMs);
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(moved).toBe(3);
    // It should have begun at once.
    expect(lagMs).toBeGreaterThanOrEqual(18);
    expect(nextRunMs).toBeGreaterThan(lastRunMs!);
    expect(timers.pending.get(TIMER)?.delayMs).toBe(500);
  });

  it('runs again only after its current run has ended, if it is scheduled during that run', async () => {
    const ends: (() => void)[] = [];
    const loop = make({ run: () => new Promise((resolve) => ends.push(() => resolve(1))) });
    loop.schedule(0);
    await timers.fire(TIMER);
    expect(loop.status()).toMatchObject({ durationMs: null, moved: null, nextRunMs: null });
    loop.schedule(0);
    expect(timers.pending.size).toBe(0);
    ends[0]!();
    await settled();
    expect([...timers.pending.keys()]).toEqual([TIMER]);
    await timers.fire(TIMER);
    expect(ends).toHaveLength(2);
    ends[1]!();
  });

  it('continues after an error, and reports the error under its own name', async () => {
    const failure = new Error('no store');
    let isDown = true;
    const loop = make({
      run: () => (isDown ? Promise.reject(failure) : Promise.resolve(7)),
    });
    loop.schedule(0);
    await timers.fire(TIMER);
    expect(errors).toEqual([['sweep', failure]]);
    expect(loop.status()).toMatchObject({ moved: 0, lastError: { message: 'no store' } });
    isDown = false;
    await timers.fire(TIMER);
    expect(loop.status()).toMatchObject({ moved: 7, lastError: { message: 'no store' } });
  });

  it('reports the first 200 characters of a long error', () => {
    const loop = make();
    loop.fail(new Error('x'.repeat(5_000)));
    expect(loop.status().lastError?.message).toBe('x'.repeat(200));
  });

  it('pauses without a next time until it is scheduled again', async () => {
    const loop = make({ pauseMs: () => null });
    loop.schedule(0);
    await timers.fire(TIMER);
    expect(timers.pending.size).toBe(0);
    loop.schedule(40);
    expect(timers.pending.get(TIMER)?.delayMs).toBe(40);
  });

  it('stops after the current run, and leaves no timeout', async () => {
    let end = (): void => undefined;
    const loop = make({ run: () => new Promise((resolve) => (end = (): void => resolve(1))) });
    loop.schedule(0);
    await timers.fire(TIMER);
    let isStopped = false;
    const stopping = loop.stop().then(() => (isStopped = true));
    await settled();
    expect(isStopped).toBe(false);
    end();
    await stopping;
    loop.schedule(0);
    expect(timers.pending.size).toBe(0);
    expect(loop.status().nextRunMs).toBeNull();
  });

  it('stops at once while it waits', async () => {
    const loop = make();
    loop.schedule(60_000);
    await loop.stop();
    expect(timers.pending.size).toBe(0);
  });
});
