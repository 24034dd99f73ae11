import { Redis } from 'ioredis';
import { type EngineOptions, PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { EngineFixture, newJob, silentLog, testPoolOptions } from './fixture.js';

describe('bytes counted for quotas', () => {
  const QUOTAS = { queues: 0, jobsPerQueue: 0, bytes: 1_000 };
  const PREFIX = 'pre.';

  /** A Redis of its own: to count walks over all keys there are. */
  describe('stored jobs', () => {
    let server: RedisProcess;
    let redis: Redis;
    const closing: (() => Promise<unknown>)[] = [];
    beforeEach(async () => {
      server = await startRedis();
      redis = new Redis(server.url, { protocol: 2, keyPrefix: PREFIX });
    });
    afterEach(async () => {
      for (const close of closing.splice(0).reverse()) await close();
      redis.disconnect();
      await server.stop();
    });

    async function open(options: EngineOptions = {}, keyPrefix = PREFIX): Promise<PoolEngine> {
      const pool = await RedisPool.connect(
        'default',
        testPoolOptions({ url: server.url, keyPrefix }),
        silentLog,
      );
      const engine = new PoolEngine(pool, options);
      closing.push(
        () => pool.close(),
        () => engine.stop(),
      );
      return engine;
    }
    const bytes = async (ns: string): Promise<number> =>
      Number((await redis.hget(`{${ns}}:meta`, 'bytes')) ?? 0);
    const job = (text: string, more = {}): ReturnType<typeof newJob> =>
      newJob({ body: Buffer.from(text), ...more });

    it('are counted in all namespaces and states when the first server with a quota starts', async () => {
      let nowMs = Date.now();
      const before = await open({ clock: () => nowMs });
      await before.publish('one', 'q', job('1'));
      await before.lease('one', { queues: ['q'], count: 1, ttrMs: 0, waitMs: 0 });
      await before.pumpNow('one');
      await before.publish('one', 'q', job('22'));
      await before.lease('one', { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0 });
      await before.publishMany('one', 'q', [job('333'), job('4444', { delayMs: 60_000 })]);
      await before.publish('one', 'far', job('55555', { delayMs: 3_600_000, attributes: { a: 'b' } }));
      await before.publish('two', 'q', job('666666', { id: 'chosen' }));

      const engine = await open({ quotas: QUOTAS, clock: () => nowMs });
      await engine.publish('two', 'q', job('seven77'));
      engine.start();
      await waitFor(async () => (await bytes('one')) === 15 && (await bytes('two')) === 13, 5_000);
      expect(await engine.countBytesNow()).toBe(0);

      expect(await engine.deadLetter.delete('one', 'q', 1)).toBe(1);
      nowMs += 3_600_000;
      await engine.pumpNow('one');
      await engine.queues.destroy('one', 'far');
      await engine.ack('two', 'q', 'chosen');
      expect([await bytes('one'), await bytes('two')]).toEqual([9, 7]);
    });

    it('are part of the sum after the first count', async () => {
      const before = await open();
      const id = await before.publish('ns', 'q', job('x'.repeat(900)));
      const engine = await open({ quotas: QUOTAS });
      await engine.countBytesNow();
      await expect(engine.publish('ns', 'q', job('x'.repeat(101)))).rejects.toMatchObject({
        code: 'namespace_full',
      });
      await engine.publish('ns', 'q', job('x'.repeat(100)));
      await before.ack('ns', 'q', id);
      await engine.publish('ns', 'q', job('x'.repeat(900)));
    });

    it('are counted with all stored parts, also if an earlier server counted only bodies', async () => {
      const before = await open();
      const put = async (id: string) => {
        await before.components.extendedPublisher.publish('ns', [
          { queue: 'q', id, body: Buffer.from('body') },
        ]);
        await before.components.jobUpdater.log('ns', id, 'x'.repeat(900));
      };
      await put('a');
      const engine = await open({ quotas: QUOTAS });
      expect(await engine.countBytesNow()).toBe(1);
      const one = await bytes('ns');
      expect(one).toBeGreaterThan(500);
      expect(await engine.countBytesNow()).toBe(0);
      await expect(engine.jobs.log('ns', 'a', 'x'.repeat(900))).rejects.toMatchObject({
        code: 'namespace_full',
      });
      // As an earlier server leaves it.
      await redis.hdel('{ns}x\u0000a', 'beside');
      await redis.hset('{ns}:meta', 'bytes', 4);
      expect(await engine.countBytesNow()).toBe(1);
      expect(await bytes('ns')).toBe(one);
      await before.components.jobCanceller.cancel('ns', 'a');
      expect(await bytes('ns')).toBe(0);
    });

    it('are counted with recurring jobs that were stored before', async () => {
      const before = await open();
      const schedule = { everyMs: 3_600_000, offsetMs: 3_600_000 };
      await before.recurring.set('ns', {
        id: 'a',
        schedule,
        template: { queue: 'q', body: Buffer.from('') },
      });
      const engine = await open({ quotas: QUOTAS });
      await engine.countBytesNow();
      const counted = await bytes('ns');
      expect(counted).toBeGreaterThan(600);
      await engine.countBytesNow();
      expect(await bytes('ns')).toBe(counted);
      await engine.recurring.remove('ns', 'a');
      expect(await bytes('ns')).toBe(0);
    });

    it('are counted only under the key prefix of the server', async () => {
      const foreign = await open({}, 'other.');
      await foreign.publish('ns', 'q', job('foreign'));
      await (await open()).publish('ns', 'q', job('own'));
      await redis.set('{ns}j', 'no job');
      const engine = await open({ quotas: QUOTAS });
      expect(await engine.countBytesNow()).toBe(1);
      expect(await bytes('ns')).toBe(3);
      const plain = new Redis(server.url, { protocol: 2 });
      expect(await plain.hexists('other.{ns}:meta', 'bytes')).toBe(0);
      plain.disconnect();
    });

    it('are counted at most once an hour, and again after a server without a quota ran', async () => {
      const counted = async (): Promise<string | null> => redis.get('pumphouse:counted');
      (await open({ quotas: QUOTAS })).start();
      await waitFor(async () => (await counted()) === 'done');
      expect(await redis.pttl('pumphouse:counted')).toBeGreaterThan(3_500_000);
      await (await open()).publish('ns', 'q', job('later'));
      (await open({ quotas: QUOTAS })).start();
      (await open()).start();
      await waitFor(async () => (await counted()) === null);
      expect(await bytes('ns')).toBe(0);
      (await open({ quotas: QUOTAS })).start();
      await waitFor(async () => (await bytes('ns')) === 5);
    });

    it('are taken off the sum when they end in a full Redis', async () => {
      let nowMs = Date.now();
      const engine = await open({ quotas: QUOTAS, clock: () => nowMs });
      const publish = (queue: string, more = {}): Promise<string> =>
        engine.publish('ns', queue, job('12345', more));
      const take = (queue: string, ttrMs: number): Promise<unknown> =>
        engine.lease('ns', { queues: [queue], count: 1, ttrMs, waitMs: 0 });
      await publish('dead');
      await take('dead', 0);
      await engine.pumpNow('ns');
      const acked = await publish('acked');
      await publish('destroyed');
      await publish('met', { ttlMs: 1_000 });
      await publish('swept', { ttlMs: 1_000 });
      await publish('scheduled', { ttlMs: 1_000, delayMs: 5_000 });
      expect(await bytes('ns')).toBe(30);

      nowMs += 1_000;
      await redis.config('SET', 'maxmemory', '1');
      const steps = [
        () => engine.ack('ns', 'acked', acked),
        () => engine.queues.destroy('ns', 'destroyed'),
        () => engine.deadLetter.delete('ns', 'dead', 1),
        () => take('met', 60_000),
        () => engine.pumpNow('ns'),
        () => engine.tidyNow('ns'),
      ];
      const sums: number[] = [];
      for (const step of steps) {
        await step();
        sums.push(await bytes('ns'));
      }
      expect(sums).toEqual([25, 20, 15, 10, 5, 0]);
    });

    it('are counted once each while jobs are published, acknowledged and returned', async () => {
      const before = await open();
      const engine = await open({ quotas: { ...QUOTAS, bytes: 1_000_000 } });
      for (let i = 0; i < 10; i++)
        await before.publishMany(
          'ns',
          'q',
          Array.from({ length: 64 }, () => job('0123456789')),
        );
      const halt = { isOver: false };
      const work = async (): Promise<void> => {
        while (!halt.isOver) {
          const jobs = await engine.lease('ns', { queues: ['q'], count: 7, ttrMs: 60_000, waitMs: 0 });
          await Promise.all(jobs.slice(0, 5).map(({ id }) => engine.ack('ns', 'q', id)));
          await engine.undo('ns', jobs.slice(5));
          await engine.publishMany('ns', 'q', [job('new'), job('')]);
        }
      };
      const working = [work(), work()];
      await Promise.all([engine.countBytesNow(), engine.countBytesNow()]);
      halt.isOver = true;
      await Promise.all(working);

      const plain = new Redis(server.url, { protocol: 2 });
      const keys = await plain.keysBuffer(`${PREFIX}{ns}j*`);
      const values = await Promise.all(keys.map((key) => plain.getBuffer(key)));
      expect(values.filter((value) => (value?.[2] ?? 0) < 128)).toEqual([]);
      expect(await bytes('ns')).toBe(values.reduce((sum, value) => sum + (value?.length ?? 0) - 24, 0));
      plain.disconnect();
    });
  });
});

describe('memory in Redis', () => {
  /** An eighth of a million: Redis's hash tables, which grow by doubling, are as full as with a million. */
  const JOBS = 125_000;
  const BATCH = 64;
  const AT_ONCE = 16;

  /** What a job costs in Redis: 100 B of body, a ttl, a short namespace. */
  describe('the memory that a job takes', () => {
    it.each([
      ['ready', 0, 280],
      ['scheduled', 3_600_000, 300],
    ])(
      'is within the bound for a %s job of 100 bytes',
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
});
