import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job.js';
import { testRedisUrl } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

/** Jobs of every kind, some ended by each of the ways there are. */
async function mixedRun(f: EngineFixture): Promise<void> {
  const lease = (count: number, ttrMs: number): Promise<LeasedJob[]> => f.reserve('q', { count, ttrMs });
  for (const body of [Buffer.from('short'), Buffer.alloc(3_000, 'x')]) {
    for (const attributes of [{}, { attributes: { a: 'b' } }]) {
      const job = newJob({ body, ttlMs: 36_000_000, tries: 2, ...attributes });
      const mortal = { ...job, tries: 1 };
      await f.engine.publishMany(f.ns, 'q', [mortal, mortal, ...new Array<typeof job>(8).fill(job)]);
      await f.engine.publishMany(f.ns, 'q', [
        { ...job, delayMs: 1_000 },
        { ...job, delayMs: 3_600_000 },
        { ...job, ttlMs: 1_500 },
      ]);
      await f.publish('q', {
        ...job,
        id: `mine-${body.length}-${String(attributes.attributes !== undefined)}`,
      });
    }
  }
  await lease(2, 500);
  f.nowMs += 2_000;
  await f.engine.pumpNow(f.ns);
  const leased = await lease(30, 500);
  await f.engine.undo(f.ns, leased.slice(0, 2));
  for (const { id, lease: number } of leased.slice(2, 4)) await f.engine.ack(f.ns, 'q', id, number);
  f.nowMs += 500;
  await f.engine.pumpNow(f.ns);
  await f.engine.respawn(f.ns, 'q', 2, 60_000);
  await f.engine.tidyNow(f.ns);
  await f.reserve('q', { count: 3 });
  await f.publish('q', { delayMs: 60_000 });
  await f.reserve('nobody-publishes-here', { waitMs: 1 });
}

describe('the keys of a namespace', () => {
  it('have no TTL of Redis’s own, but for the flags of those who wait', async () => {
    const f = await EngineFixture.withClock();
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    await mixedRun(f);
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ scheduled: 5, leased: 3 }]);
    expect((await f.engine.deadLetterHead(f.ns, 'q')).size).toBeGreaterThan(0);

    const keys = await redis.keysBuffer(`{${f.ns}}*`);
    const kinds = new Set(keys.map((key) => /\}([jx]|:.)/.exec(key.toString('latin1'))?.[1]));
    // Every kind of key was made: bodies, attributes, each kind of place.
    for (const kind of ['j', 'x', ':r', ':s', ':l', ':d', ':f', ':i']) expect(kinds).toContain(kind);
    const mortal: string[] = [];
    for (const key of keys) if ((await redis.pttl(key)) !== -1) mortal.push(key.toString('latin1'));
    expect(mortal).toEqual([`{${f.ns}}:waiting`]);
    redis.disconnect();
    await f.close();
  });

  it('are all gone when its last job has expired, whatever state it was in', async () => {
    const f = await EngineFixture.withClock();
    const job = newJob({ ttlMs: 10_000, tries: 3, attributes: { a: 'b' } });
    await f.engine.publishMany(f.ns, 'q', [job, job, job]);
    await f.reserve('q', { ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    await f.reserve('q', { ttrMs: 3_600_000 });
    await f.engine.publishMany(f.ns, 'q', [
      { ...job, delayMs: 1_000 },
      { ...job, delayMs: 300_000 },
      { ...job, delayMs: 3_600_000 },
      { ...job, delayMs: 36_000_000, ttlMs: 3_000_000 },
    ]);

    f.nowMs += 3_000_000;
    await f.engine.pumpNow(f.ns);
    await f.engine.tidyNow(f.ns);
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
    await f.close();
  });
});
