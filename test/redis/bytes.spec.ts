import { Redis } from 'ioredis';
import { startRedis } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

/** An eighth of a million: Redis's hash tables, which grow by doubling, are as full as with a million. */
const JOBS = 125_000;
const BATCH = 64;
const AT_ONCE = 16;

/** What a job costs in Redis: 100 B of body, a ttl, a short namespace. */
describe('a job in memory', () => {
  it.each([
    ['ready', 0, 280],
    ['scheduled', 3_600_000, 300],
  ])(
    '%s takes no more bytes than it is allowed',
    async (name, delayMs, budget) => {
      const redis = await startRedis({ args: ['--appendonly', 'no'] });
      const admin = new Redis(redis.port, '127.0.0.1');
      const f = await EngineFixture.open({}, { url: redis.url, allowUnsafe: true });
      // The buffers of connections are no part of a job.
      const used = async (): Promise<number> => {
        const facts = await admin.info('memory');
        const fact = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(facts)?.[1]);
        return fact('used_memory') - fact('mem_clients_normal');
      };
      const job = newJob({ body: Buffer.alloc(100, 'x'), ttlMs: 86_400_000, delayMs, tries: 3 });
      await f.engine.publish('ns', 'q', job);
      const before = await used();
      const state = { left: JOBS };
      const publish = async (): Promise<void> => {
        while (state.left > 0) {
          const count = Math.min(state.left, BATCH);
          state.left -= count;
          await f.engine.publishMany(
            'ns',
            'q',
            Array.from({ length: count }, () => job),
          );
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, publish));

      const bytes = ((await used()) - before) / JOBS;
      console.log(`${name}: ${bytes.toFixed(1)} bytes a job`);
      expect(bytes).toBeGreaterThan(150);
      expect(bytes).toBeLessThanOrEqual(budget);
      await f.close();
      admin.disconnect();
      await redis.stop();
    },
    60_000,
  );
});
