import { lookForDue, WALK_END } from '../../src/redis/due-soon.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

/** More than a sweep looks at in one step, and than one script does. */
const MANY = 700;
const DELAY_MS = 60_000;

describe('the sweep over all namespaces', () => {
  // Of its own: servers of other tests sweep all namespaces of a Redis.
  let redis: RedisProcess;
  let f: EngineFixture;
  const namespaces = Array.from({ length: MANY }, (_, i) => `ns${String(i)}`);
  beforeEach(async () => {
    redis = await startRedis();
    f = await EngineFixture.open({}, { url: redis.url });
  });
  afterEach(async () => {
    await f.close();
    await redis.stop();
  });

  const publishTo = (some: readonly string[], delayMs: number): Promise<unknown> =>
    Promise.all(some.map((namespace) => f.engine.publish(namespace, 'q', newJob({ delayMs }))));

  /** Walks over all of them, in looks of `count`. */
  async function dueSoon(count: number, horizonMs: number): Promise<{ found: string[]; looks: number }> {
    const found = new Set<string>();
    let cursor = WALK_END;
    let looks = 0;
    do {
      const page = await lookForDue(f.pool, { cursor, count, horizonMs });
      expect(page.total).toBe(MANY);
      for (const [namespace, dueMs] of page.due) {
        expect(dueMs).toBeLessThanOrEqual(horizonMs);
        found.add(namespace);
      }
      ({ cursor } = page);
      looks++;
    } while (cursor !== WALK_END);
    return { found: [...found].sort(), looks };
  }

  it('meets each namespace that has something due soon, and names no other', async () => {
    // Most of them have nothing that will ever be due.
    await publishTo(namespaces, 0);
    const soon = namespaces.filter((_, i) => i % 40 === 0);
    await publishTo(soon, DELAY_MS);
    const horizonMs = f.pool.clock.now() + DELAY_MS + 5_000;
    expect((await dueSoon(50, horizonMs)).found).toEqual([...soon].sort());

    await publishTo(namespaces, 2 * DELAY_MS);
    const { found, looks } = await dueSoon(50, horizonMs);
    expect(found).toEqual([...soon].sort());
    expect(looks).toBeGreaterThan(5);
    expect((await dueSoon(50, horizonMs + 2 * DELAY_MS)).found).toEqual([...namespaces].sort());
  });

  it('moves what a server left that is gone, in whatever namespace, more than once', async () => {
    const other = await EngineFixture.open({}, { url: redis.url });
    try {
      await publishTo(namespaces, 50);
      // A namespace whose key is none of ours must not keep the others from it.
      await f.pool.read('DEL', f.pool.keys.namespace('ns5').due);
      await f.pool.read('SET', f.pool.keys.namespace('ns5').due, 'no zset');
      other.engine.start();
      const others = namespaces.filter((namespace) => namespace !== 'ns5');
      await waitFor(async () => (await readyIn(others)) === others.length, 15_000);
      // By now it knows how many there are, and goes in steps.
      await publishTo(others, 50);
      await waitFor(async () => (await readyIn(others)) === 2 * others.length, 15_000);
    } finally {
      await other.close();
    }
  }, 60_000);

  async function readyIn(some: readonly string[]): Promise<number> {
    const sizes = await Promise.all(some.map((namespace) => f.engine.size(namespace, 'q')));
    return sizes.reduce((sum, size) => sum + size, 0);
  }
});
