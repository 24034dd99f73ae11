import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

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
});
