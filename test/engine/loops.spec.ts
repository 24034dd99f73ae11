import { silentObserver } from '../../src/engine/core/observer.js';
import { NodeTimers, type Timers } from '../../src/engine/timers/timers.js';
import type { StoreOfOwn } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

/** Knows which names are pending. */
class WatchedTimers implements Timers {
  readonly pending = new Set<string>();
  private readonly timers = new NodeTimers();

  set(name: string, delayMs: number, fire: () => void): void {
    this.pending.add(name);
    this.timers.set(name, delayMs, () => {
      this.pending.delete(name);
      fire();
    });
  }

  clear(name: string): void {
    this.pending.delete(name);
    this.timers.clear(name);
  }
}

const NAMES = [
  'pump',
  'sweep',
  'janitor',
  'quota_backfill',
  'recovery',
  'slot_renewal',
  'statistics',
  'events',
  'event_listeners',
  'delivery_log',
  'operations',
  'activity',
  'history',
];

describe('the loops of an engine', () => {
  let timers: WatchedTimers;
  let f: EngineFixture;
  beforeEach(async () => {
    timers = new WatchedTimers();
    f = await EngineFixture.open({ timers });
  });
  afterEach(() => f.close());

  it('set no timeout before the start, and move nothing by themselves', async () => {
    await f.publish('q', { delayMs: 20 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([...timers.pending]).toEqual([]);
    expect(f.engine.loops().map(({ name, lastRunMs }) => [name, lastRunMs])).toEqual(
      NAMES.map((name) => [name, null]),
    );
    expect(await f.size('q')).toBe(0);
  });

  it('have a timeout each for what they wait for, and none once they are stopped', async () => {
    f.engine.start();
    await f.publish('q', { delayMs: 2_000 });
    const waiting = ['sweep', 'janitor', 'recovery', 'statistics', 'event_listeners'];
    const names = [...waiting.map((name) => `${name}:default`), `pump:default:${f.ns}`];
    // One that runs just now has none.
    await waitFor(() => names.every((name) => timers.pending.has(name)));
    await f.engine.stop();
    expect([...timers.pending]).toEqual([]);
    await f.publish('q', { delayMs: 100 });
    expect([...timers.pending]).toEqual([]);
    for (const { nextRunMs } of f.engine.loops()) expect(nextRunMs).toBeNull();
  });
});

// Of its own: the sweep finds what other specs left in the Redis that they share.
describe('the loops on a Redis of their own', () => {
  let store: StoreOfOwn;
  let f: EngineFixture;
  beforeEach(async () => ({ f, ...store } = await EngineFixture.alone()));
  afterEach(() => f.close());

  it('report what the pump moved and when it runs next', async () => {
    const pump = () => f.engine.loops().find(({ name }) => name === 'pump');
    f.engine.start();
    const sentMs = Date.now();
    await f.publish('q', { delayMs: 1_000 });
    // Redis's clock is known by estimate.
    const nextRunMs = pump()?.nextRunMs ?? 0;
    expect(nextRunMs).toBeGreaterThan(sentMs + 800);
    expect(nextRunMs).toBeLessThan(Date.now() + 1_200);
    // Asked in every turn of the event loop: the next run, which moves nothing, cannot begin and end between two.
    while (pump()?.moved !== 1 && Date.now() < sentMs + 5_000)
      await new Promise((resolve) => setImmediate(resolve));
    expect(pump()?.moved).toBe(1);
    expect(pump()?.lastRunMs).toBeGreaterThan(sentMs + 800);
    expect(pump()?.lagMs).toBeGreaterThanOrEqual(0);
    expect(pump()?.durationMs).toBeGreaterThan(0);
  });

  it('report their last error, and go on', async () => {
    f.engine.start();
    const { namespaces } = f.pool.keys;
    const sweep = () => f.engine.loops().find(({ name }) => name === 'sweep');
    await store.client.set(namespaces, 'no set');
    const error = await waitFor(() => sweep()?.lastError, 5_000);
    expect(error.message).toContain('WRONGTYPE');
    await store.client.del(namespaces);
    await waitFor(() => (sweep()?.lastRunMs ?? 0) > error.atMs, 5_000);
    await f.publish('q', { delayMs: 50 });
    expect(await f.lease('q', { waitMs: 5_000 })).toHaveLength(1);
  });
});

describe('an observer of the loops', () => {
  it('is notified of failed loops by their names in metrics', async () => {
    const labels: string[] = [];
    const observer = { ...silentObserver, loopError: (label: string): void => void labels.push(label) };
    const f = await EngineFixture.open({ observer });
    const read = f.pool.read.bind(f.pool);
    f.pool.read = (command, ...args) =>
      command === 'DEL' && args[0] === f.pool.keys.counted
        ? Promise.reject(new Error('no store'))
        : read(command, ...args);
    f.engine.start();
    await waitFor(() => labels.length > 0);
    expect(labels).toEqual(['quota_backfill']);
    expect(f.engine.loops().find(({ name }) => name === 'quota_backfill')?.lastError?.message).toBe(
      'no store',
    );
    await f.close();
  });
});
