import { Redis } from 'ioredis';
import { integerAt } from '../../src/redis/scripts/script.js';
import { sweep } from '../../src/redis/scripts/plain.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

/** In the moment in which its ttl ends a job is gone for every call, although nobody has removed it yet. */
describe('a job whose ttl has ended', () => {
  let f: EngineFixture;
  let redis: Redis;
  beforeEach(async () => {
    redis = new Redis(testRedisUrl(), { protocol: 2 });
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    redis.disconnect();
    await f.close();
  });

  /** One job in each state that ends with the ttl: ready, scheduled near and far, leased. */
  async function oneOfEach(ttlMs: number): Promise<string[]> {
    const leased = await f.publish('q', { ttlMs, tries: 5 });
    await f.reserve('q', { ttrMs: 36_000_000 });
    return [
      leased,
      await f.publish('q', { ttlMs }),
      await f.publish('q', { ttlMs, delayMs: 300_000 }),
      await f.publish('q', { ttlMs, delayMs: 36_000_000 }),
    ];
  }

  it('is not shown', async () => {
    const ids = await oneOfEach(1_000_000);
    f.nowMs += 999_999;
    for (const id of ids) expect(await f.engine.peekJob(f.ns, 'q', id)).toMatchObject({ id, ttlLeftMs: 1 });
    f.nowMs += 1;

    for (const id of ids) expect(await f.engine.peekJob(f.ns, 'q', id)).toBeNull();
    expect(await f.engine.peekQueue(f.ns, 'q')).toBeNull();
  });

  it('is not given out, nor given back', async () => {
    const [leased = ''] = await oneOfEach(1_000_000);
    f.nowMs += 1_000_000;

    expect(await f.drain('q')).toEqual([]);
    await f.engine.undo(f.ns, [{ id: leased, lease: 1 }]);
    expect(await f.drain('q')).toEqual([]);
  });

  it('cannot be acknowledged', async () => {
    const ids = await oneOfEach(1_000_000);
    f.nowMs += 1_000_000;

    for (const id of ids) expect(await f.engine.ack(f.ns, 'q', id)).toBe(false);
  });

  it('has left its id to others', async () => {
    await f.publish('q', { id: 'mine', ttlMs: 1_000, text: 'first' });
    await expect(f.publish('q', { id: 'mine' })).rejects.toMatchObject({ code: 'job_exists' });
    f.nowMs += 1_000;
    await f.publish('q', { id: 'mine', text: 'second' });

    expect(await f.drain('q')).toEqual(['second']);
  });

  it('is gone from every count within one round of pump and janitor, and leaves no key', async () => {
    await oneOfEach(1_000_000);
    f.nowMs += 1_000_000;
    await f.engine.pumpNow(f.ns);
    await f.engine.tidyNow(f.ns);
    await f.engine.tidyNow(f.ns);

    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([
      { ready: 0, scheduled: 0, leased: 0, dead: 0 },
    ]);
    expect(await f.keys()).toEqual([]);
  });

  describe('in a line that nobody consumes', () => {
    const expiring = async (many: number, ttlMs = 1_000): Promise<void> => {
      for (let i = 0; i < many; i += 60)
        await f.engine.publishMany(
          f.ns,
          'q',
          Array.from({ length: 60 }, () => newJob({ ttlMs })),
        );
    };
    const number = async (): Promise<string> => (await redis.hget(`{${f.ns}}:queues`, 'q')) ?? '';
    const entries = async (): Promise<number> => redis.llen(`{${f.ns}}:r${await number()}`);

    it('leaves no trace, though one that stays is before it', async () => {
      const first = await f.publish('q');
      for (let round = 0; round < 4; round++) {
        await expiring(540);
        f.nowMs += 1_000;
        await f.engine.tidyNow(f.ns);
        expect([await f.size('q'), await entries()]).toEqual([1, 1]);
      }
      await expiring(60, 5_000);
      expect(await f.size('q')).toBe(61);
      expect(await f.reserve('q')).toMatchObject([{ id: first }]);
    });

    it('leaves no trace, though hundreds that stay are before it', async () => {
      await expiring(300, 1_000_000);
      await expiring(540);
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);

      expect([await f.size('q'), await entries()]).toEqual([300, 300]);
    });

    it('leaves no trace, though more come after it than are looked through again', async () => {
      await expiring(540);
      await expiring(6_000, 1_000_000);
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);

      expect([await f.size('q'), await entries()]).toEqual([6_000, 6_000]);
    });

    it('leaves no trace, though there are jobs before it that stay, and more after it than are looked through again', async () => {
      for (let i = 0; i < 5; i++) await f.publish('q');
      await expiring(540);
      await expiring(6_000, 1_000_000);
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);

      expect([await f.size('q'), await entries()]).toEqual([6_005, 6_005]);
    });

    it('is a blank for as long as it is far from both ends', async () => {
      await expiring(120, 1_000_000);
      await expiring(540);
      await expiring(6_000, 1_000_000);
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);
      expect([await f.size('q'), await entries()]).toEqual([6_120, 6_660]);

      expect(await f.reserve('q', { count: 100 })).toHaveLength(100);
      expect(await f.reserve('q', { count: 30 })).toHaveLength(30);
      expect([await f.size('q'), await entries()]).toEqual([5_990, 5_990]);
    });

    it('goes to its end, though its queue has more to expire all the time and several servers look', async () => {
      await expiring(540);
      f.nowMs += 1_000;
      const keys = f.pool.keys.namespace(f.ns);
      const args = { clock_ms: String(f.nowMs), deadline_ms: 0, number: await number(), earliest_ms: 0 };
      await f.pool.run(sweep, keys, { ...args, skip: 0, mark: '5' });
      await f.publish('q', { ttlMs: 1 });
      f.nowMs += 100_000;
      await f.engine.tidyNow(f.ns);
      expect(await entries()).toBe(341);

      const { raw } = await f.pool.run(sweep, keys, { ...args, skip: 0, mark: '5' });
      expect(integerAt(raw, 2)).toBe(200);
      // Its server has died: nothing has been heard of it for longer than a pass may take for a window.
      f.nowMs += 121_000;
      await f.engine.tidyNow(f.ns);
      expect(await entries()).toBe(0);
    });

    it('is left to another pass that begins in the midst of one, and takes out what that one has counted', async () => {
      await f.publish('q', { ttlMs: 2_000 });
      await expiring(540);
      f.nowMs += 1_000;
      const keys = f.pool.keys.namespace(f.ns);
      const args = { clock_ms: String(f.nowMs), deadline_ms: 0, number: await number(), earliest_ms: 0 };
      const window = (skip: number) => f.pool.run(sweep, keys, { ...args, skip, mark: '5' });
      const { raw } = await window(0);
      expect([integerAt(raw, 2), integerAt(raw, 5)]).toEqual([200, 200]);
      await redis.hset(`{${f.ns}}:i${await number()}`, 'sweep', '2.7');
      expect(integerAt((await window(100)).raw, 2)).toBe(0);
      expect(await entries()).toBe(341);

      // That one was left by a server that died.
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);
      expect([await f.size('q'), await entries()]).toEqual([0, 0]);
    });

    it('is not what it takes: ghosts of withdrawn jobs are taken out too, when they are many', async () => {
      const stays = await f.publish('q');
      const ids: string[] = [];
      for (let i = 0; i < 20; i++)
        ids.push(
          ...(await f.engine.publishMany(
            f.ns,
            'q',
            Array.from({ length: 60 }, () => newJob()),
          )),
        );
      await f.engine.ackMany(
        f.ns,
        ids.slice(0, 1_000).map((id) => ({ queue: 'q', id })),
      );
      await f.engine.tidyNow(f.ns);
      expect(await entries()).toBe(1_201);
      await f.engine.ackMany(
        f.ns,
        ids.slice(1_000).map((id) => ({ queue: 'q', id })),
      );
      await f.engine.tidyNow(f.ns);

      expect([await f.size('q'), await entries()]).toEqual([1, 1]);
      expect(await f.reserve('q')).toMatchObject([{ id: stays }]);
    });
  });
});
