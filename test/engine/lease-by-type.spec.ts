import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedJob, LeaseRequest } from '../../src/domain/job/job.js';
import { NO_LIMITS } from '../../src/domain/job/quotas.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { EngineFixture, silentLog } from './fixture.js';

const HOUR_MS = 3_600_000;

describe('leases by type', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    const problems = await f.audit();
    await f.close();
    expect(problems).toEqual([]);
  });

  type Types = LeaseRequest['types'];
  const texts = async (types: Types, count = 100, queue = 'q'): Promise<string[]> => {
    const jobs = await f.lease(queue, { count, ...(types ? { types } : {}) });
    return jobs.map(({ body }) => body.toString());
  };
  const put = async (...jobs: (readonly [string, string | null, number?])[]): Promise<void> => {
    for (const [text, type, priority = 0] of jobs)
      await f.put('q', { text, priority, ...(type === null ? {} : { type }) });
  };

  it('give jobs of these types only, in the order in which they became ready', async () => {
    await put(['m1', 'mail'], ['s1', 'sms'], ['m2', 'mail'], ['p1', 'push'], ['s2', 'sms']);
    expect(await texts(['sms'], 1)).toEqual(['s1']);
    expect(await texts(['mail', 'sms'])).toEqual(['m1', 'm2', 's2']);
    expect(await texts(['mail', 'sms'])).toEqual([]);
    expect(await f.counts()).toMatchObject({ ready: 1, leased: 4 });
    expect(await texts(undefined)).toEqual(['p1']);
  });

  it('keep the order among requests of one moment, over many windows of each list', async () => {
    await texts(['none']);
    const types = ['mail', 'sms', null, 'push'];
    const jobs = Array.from({ length: 60 }, (_, i) => ({ text: `${i}`, type: types[(i * 7) % 4] ?? null }));
    await put(...jobs.map(({ text, type }) => [text, type] as const));
    const ofThese = jobs.filter(({ type }) => type !== 'push').map(({ text }) => text);
    const many = Array.from({ length: 17 }, (_, i) => `other-${i}`);
    const leased = await Promise.all(ofThese.map(() => texts(['sms', ...many, null, 'mail'], 1)));
    expect(leased.flat()).toEqual(ofThese);
    expect(await texts(undefined)).toHaveLength(jobs.length - ofThese.length);
  });

  it('take jobs without a type for null, simple and extended ones', async () => {
    await texts(['mail']);
    await put(['m1', 'mail'], ['x1', null, 1]);
    await f.publish('q', { text: 'simple' });
    await put(['x2', null, -1], ['m2', 'mail', -2]);
    expect(await texts(['sms'])).toEqual([]);
    expect(await texts(['mail'], 1)).toEqual(['m2']);
    expect(await texts([null])).toEqual(['x2', 'simple', 'x1']);
    expect(await texts([null, 'mail'])).toEqual(['m1']);
  });

  it('keep the one order of the queue for requests without types', async () => {
    await put(['m0', 'mail']);
    await texts(['none']);
    await put(
      ['m1', 'mail'],
      ['s1', 'sms', -1],
      ['x1', null],
      ['m2', 'mail'],
      ['s2', 'sms'],
      ['x2', null, -1],
    );
    expect(await texts(undefined, 3)).toEqual(['s1', 'x2', 'm0']);
    expect(await texts(undefined)).toEqual(['m1', 'x1', 'm2', 's2']);
  });

  it('order a queue whose jobs were ready before', async () => {
    await put(['m1', 'mail'], ['s1', 'sms'], ['m2', 'mail', -1], ['x1', null, 2], ['m3', 'mail', 3]);
    await f.publish('q', { text: 'simple' });
    await put(['m4', 'mail']);
    expect(await texts(['mail'])).toEqual(['m2', 'm1', 'm4', 'm3']);
    expect(await f.audit()).toEqual([]);
    expect(await texts(undefined)).toEqual(['s1', 'simple', 'x1']);
  });

  it('keep the order of jobs without a type that were ready before, simple and extended ones', async () => {
    await f.publish('q', { text: 's1' });
    await put(['x1', null]);
    f.nowMs += 1_000;
    await f.publish('q', { text: 's2' });
    f.nowMs += 1_000;
    await put(['x2', null]);
    const [first] = await f.lease('q', { types: [null], count: 1 });
    expect(first!.body.toString()).toBe('s1');
    await f.engine.settle.release(f.ns, { id: first!.id, lease: first!.lease });
    const [again] = await f.lease('q', { types: [null], count: 1 });
    const [second] = await f.lease('q', { types: [null], count: 1 });
    expect([again, second].map((job) => job!.body.toString())).toEqual(['s1', 'x1']);
    await f.engine.settle.release(f.ns, { id: second!.id, lease: second!.lease });
    expect(await texts([null])).toEqual(['x1', 's2', 'x2']);
  });

  it('order a queue with more ready jobs than one script takes over', async () => {
    for (let i = 0; i < 250; i++)
      await put([`m${String(i)}`, i % 5 === 0 ? 'sms' : 'mail', i % 7 === 0 ? 1 : 0]);
    const sms = await texts(['sms']);
    expect(sms).toHaveLength(50);
    expect(await f.counts()).toMatchObject({ ready: 200, leased: 50 });
    const first = Array.from({ length: 250 }, (_, i) => i).filter((i) => i % 5 === 0 && i % 7 !== 0);
    expect(sms.slice(0, first.length)).toEqual(first.map((i) => `m${String(i)}`));
  });

  it('have a released job first, and one with another priority in its place', async () => {
    await texts(['mail']);
    await put(['m1', 'mail'], ['s1', 'sms'], ['m2', 'mail'], ['m3', 'mail']);
    const [one] = await f.lease('q', { types: ['mail'] });
    await f.engine.settle.release(f.ns, { id: one!.id, lease: one!.lease });
    expect(await texts(['mail'], 1)).toEqual(['m1']);
    expect(await texts(undefined)).toEqual(['s1', 'm2', 'm3']);
  });

  it('keep the order of one call, whose script runs later than its ids were minted', async () => {
    await put(['first', 'mail']);
    await texts(['mail']);
    const jobs = [{}, { type: 'mail' }, {}, { tags: ['a'] }, {}];
    const published = f.engine.jobs.publish(
      f.ns,
      jobs.map((job, i) => ({ queue: 'q', body: Buffer.from(String(i)), ...job })),
    );
    f.nowMs += 5;
    await published;
    expect(await texts(undefined)).toEqual(['0', '1', '2', '3', '4']);
  });

  it('take the jobs of the first of two queues first, also while it is ordered', async () => {
    await f.put('other', { text: 'second' });
    await put(['first', null]);
    const [job] = await f.lease('q', { queues: ['q', 'other'], types: [null] });
    expect(job!.body.toString()).toBe('first');
  });

  it('do not bring a job early that was scheduled far ahead before', async () => {
    await texts(['mail']);
    await put(['x', 'sms']);
    await texts(['mail']);
    const id = await f.publish('q', { delayMs: 4 * HOUR_MS, tries: 5 });
    await f.engine.jobs.change(f.ns, id, { delayMs: 0, type: 'mail' });
    const [job] = await f.lease('q', { types: ['mail'] });
    await f.engine.settle.retry(f.ns, {
      ...{ id, lease: job!.lease, group: 'g', message: 'm', delayMs: 24 * HOUR_MS },
    });
    for (let i = 0; i < 6; i++) await f.pass(HOUR_MS);
    expect(await f.find(id)).toMatchObject({ state: 'scheduled' });
    expect(await texts(['mail'])).toEqual([]);
  });

  it('are all purged with their namespace', async () => {
    await texts(['mail']);
    for (let i = 0; i < 130; i++) await put([String(i), i % 3 === 0 ? 'sms' : 'mail']);
    await texts(['mail'], 1);
    expect(await f.engine.components.purge.run(f.ns)).toMatchObject({ jobs: 130, isDone: true });
    expect(await f.keys()).toEqual([]);
  });

  it('delay no job of another type behind 20,000 jobs of one at the head', async () => {
    await texts(['mail']);
    const body = Buffer.from('x');
    for (let i = 0; i < 20_000; i += 500)
      await Promise.all(
        Array.from({ length: 10 }, () =>
          f.engine.jobs.publish(
            f.ns,
            Array.from({ length: 50 }, () => ({ queue: 'q', type: 'mail', body })),
          ),
        ),
      );
    await put(['s1', 'sms']);
    expect(await texts(['sms'], 1)).toEqual(['s1']);
    expect(await f.counts()).toMatchObject({ ready: 20_000, leased: 1 });
  });

  it('take jobs of 10,000 types, each by its own, and in one order', async () => {
    await texts(['t0']);
    for (let i = 0; i < 10_000; i += 50)
      await f.engine.jobs.publish(
        f.ns,
        Array.from({ length: 50 }, (_, at) => ({
          ...{ queue: 'q', type: `t${String(i + at)}`, body: Buffer.from(String(i + at)) },
        })),
      );
    expect(await texts(['t9999', 't5', 't777'])).toEqual(['5', '777', '9999']);
    expect(await texts(undefined, 7)).toEqual(['0', '1', '2', '3', '4', '6', '7']);
    const { items } = await f.engine.jobs.list(f.ns, { queue: 'q', state: 'ready' }, { limit: 100 });
    expect(items).toHaveLength(100);
  });

  it('list all ready jobs of a queue, page by page, in both orders', async () => {
    await texts(['mail']);
    await put(['m1', 'mail'], ['s1', 'sms'], ['x1', null], ['m2', 'mail', 1], ['s2', 'sms', -1]);
    await f.publish('q', { text: 'simple' });
    const all = async (order: 'oldest' | 'newest'): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const from = cursor === undefined ? {} : { cursor };
        const page = await f.engine.jobs.list(
          f.ns,
          { queue: 'q', state: 'ready' },
          { limit: 1, order, ...from },
        );
        found.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
      }
      return found;
    };
    const oldest = await all('oldest');
    expect(new Set(oldest).size).toBe(6);
    expect(await all('newest')).toEqual([...oldest].reverse());
  });
});

describe('a quota on the jobs of a queue', () => {
  it('counts those in lists of types', async () => {
    const f = await EngineFixture.withClock({ quotas: { ...NO_LIMITS, jobsPerQueue: 3 } });
    await f.put('q', { type: 'mail' });
    await f.lease('q', { types: ['none'] });
    for (const type of ['mail', 'sms']) await f.put('q', { type });
    await expect(f.put('q', { type: 'fax' })).rejects.toMatchObject({ code: 'queue_full' });
    await f.close();
  });
});

describe('waits for jobs of a type', () => {
  let f: EngineFixture;
  let pool: RedisPool;
  let other: PoolEngine;
  beforeEach(async () => {
    f = await EngineFixture.open();
    pool = await RedisPool.connect('default', f.pool.options, silentLog);
    other = new PoolEngine(pool);
  });
  afterEach(async () => {
    await other.stop();
    await pool.close();
    await f.close();
  });

  const waitFrom = (engine: PoolEngine, types: (string | null)[]): Promise<LeasedJob[]> =>
    engine.lease(f.ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 10_000, types });

  it('end with their job, by their own wake-up, when another server publishes it', async () => {
    await f.put('q', { type: 'none' });
    const waits = (['mail', 'sms', 'fax'] as const).map((type) => waitFrom(other, [type]));
    const untyped = waitFrom(other, [null]);
    await sleep(1_000);
    for (const [i, type] of (['sms', 'fax', 'mail'] as const).entries()) {
      const sentMs = performance.now();
      await f.put('q', { text: type, type });
      const [job] = await waits[(i + 1) % 3]!;
      expect(job!.body.toString()).toBe(type);
      // The next check would come within 850 ms.
      expect(performance.now() - sentMs).toBeLessThan(800);
    }
    await f.publish('q', { text: 'plain' });
    expect((await untyped)[0]!.body.toString()).toBe('plain');
  });
});
