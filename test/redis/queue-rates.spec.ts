import { QueueEngine } from '../../src/engine/engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture, silentLog, testPoolOptions } from './fixture.js';

const BURST = 20;
const RATE = { rate: 100, periodMs: 1_000, burst: BURST };
const WINDOW_MS = 1_000;

it('holds 100 a second with a burst of 20 over two servers: 120 in any second, 100 in the long run (T24)', async () => {
  const f = await EngineFixture.withClock();
  const other = new QueueEngine(f.pool, { clock: () => f.nowMs });
  await f.engine.full.controls.change(f.ns, 'q', { rate: RATE });
  const startMs = f.nowMs;
  const starts: number[] = [];
  let random = 1;
  let published = 0;
  while (f.nowMs - startMs < 60_000) {
    // Consumers come at odd moments, one server after the other, and stay away now and then.
    random = (random * 48_271) % 2_147_483_647;
    f.nowMs += random % 997 === 0 ? 900 : 1 + (random % 23);
    while (published < starts.length + 200) {
      await f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: 64 }, () => ({ body: Buffer.from('x'), delayMs: 0, ttlMs: 0, tries: 1 })),
      );
      published += 64;
    }
    const engine = random % 2 === 0 ? f.engine : other;
    const jobs = await engine.reserve(f.ns, { queues: ['q'], count: 100, ttrMs: 600_000, waitMs: 0 });
    starts.push(...jobs.map(() => f.nowMs));
  }
  expect(mostIn(starts, WINDOW_MS)).toBeLessThanOrEqual(120);
  // Without the few seconds in which nobody came for longer than a burst lasts.
  const idleMs = starts.reduce(
    (sum, at, i) => sum + Math.max(at - (starts[i - 1] ?? startMs) - BURST * 10, 0),
    0,
  );
  const aSecond = (starts.length - BURST) / ((f.nowMs - startMs - idleMs) / 1_000);
  expect(aSecond).toBeGreaterThan(99);
  expect(aSecond).toBeLessThan(101);
  await other.stop();
  await f.close();
}, 60_000);

it('serves those who wait on two servers at the rate, as soon as it allows', async () => {
  const f = await EngineFixture.open();
  const pool = await RedisPool.connect('default', testPoolOptions(), silentLog);
  const other = new QueueEngine(pool);
  f.engine.start();
  other.start();
  await f.engine.full.controls.change(f.ns, 'q', { rate: RATE });
  for (let i = 0; i < 70; i++) await f.publish('q');
  const starts: number[] = [];
  const serve = async (engine: QueueEngine): Promise<void> => {
    while (starts.length < 70) {
      const request = { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 2_000 };
      for (const { leaseEndsAtMs } of await engine.reserve(f.ns, request)) starts.push(leaseEndsAtMs);
    }
  };
  const all = Promise.all([f.engine, f.engine, other, other].map(serve));
  await waitFor(() => Promise.resolve(starts.length >= 70), 20_000);
  expect(mostIn(starts, 100)).toBeLessThanOrEqual(BURST + 10 + 1);
  f.engine.endWaits();
  other.endWaits();
  await all;
  await other.stop();
  await pool.close();
  await f.close();
}, 30_000);

describe('who waits is woken', () => {
  let f: EngineFixture;
  let woken: string[];
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    woken = [];
    f.pool.onWake((namespace, queue) => {
      if (namespace === f.ns && queue !== null) woken.push(queue);
    });
  });
  afterEach(() => f.close());

  const wait = () => f.reserve('q', { waitMs: 5_000 });
  /** It has asked, found nothing, and is noted as one who waits. */
  const isNoted = () =>
    waitFor(
      async () => (await f.pool.read('HEXISTS', f.pool.keys.namespace(f.ns).waiting, 'q')) === 1,
      2_000,
    );

  it('when the queue is resumed', async () => {
    await f.engine.full.controls.pause(f.ns, 'q');
    await f.publish('q');
    const waiting = wait();
    await isNoted();
    woken.length = 0;

    await f.engine.full.controls.resume(f.ns, 'q');

    expect(await waiting).toHaveLength(1);
    expect(woken).toEqual(['q']);
  });

  it('when a slot of the queue gets free', async () => {
    await f.engine.full.controls.change(f.ns, 'q', { maxRunning: 1 });
    const id = await f.publish('q');
    await f.publish('q');
    await f.reserve('q');
    const waiting = wait();
    await isNoted();
    woken.length = 0;

    await f.engine.ack(f.ns, 'q', id);

    expect(await waiting).toHaveLength(1);
    expect(woken).toEqual(['q']);
  });

  it('when the slot of a plain job that died gets free', async () => {
    await f.engine.full.controls.change(f.ns, 'q', { maxRunning: 1 });
    await f.publish('q', { tries: 1 });
    await f.publish('q');
    await f.reserve('q', { ttrMs: 1_000 });
    const waiting = wait();
    await isNoted();
    woken.length = 0;

    f.nowMs += 1_001;
    await f.engine.pumpNow(f.ns);

    expect(await waiting).toHaveLength(1);
    expect(woken).toEqual(['q']);
  });

  it('when its rate allows more', async () => {
    await f.engine.full.controls.change(f.ns, 'q', { rate: { rate: 1, periodMs: 1_000, burst: 1 } });
    await f.publish('q');
    await f.publish('q');
    await f.reserve('q');
    const waiting = wait();
    await isNoted();
    woken.length = 0;

    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);

    expect(await waiting).toHaveLength(1);
    expect(woken).toEqual(['q']);
  });
});

/** The most starts in any stretch of so many ms, its end left out. */
function mostIn(starts: number[], ms: number): number {
  const sorted = [...starts].sort((one, other) => one - other);
  let most = 0;
  let first = 0;
  sorted.forEach((at, i) => {
    while (at - (sorted[first] ?? at) >= ms) first++;
    most = Math.max(most, i - first + 1);
  });
  return most;
}
