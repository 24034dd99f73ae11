import type { LeaseRequest } from '../../src/domain/job/job.js';
import { EngineFixture } from './fixture.js';

describe('a fair queue', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    await setFair(true);
  });
  afterEach(async () => {
    const problems = await f.audit();
    await f.close();
    expect(problems).toEqual([]);
  });

  const setFair = (
    fair: boolean | { weights?: Record<string, number>; default?: number },
  ): Promise<unknown> => f.engine.queues.change(f.ns, 'q', { fair });
  /** Publishes jobs with the name of their key and a number as text: `a1`; `-1` has no key. */
  const put = async (names: string, more: object = {}): Promise<string[]> => {
    const ids: string[] = [];
    for (const text of names.split(' ')) {
      const key = text.replace(/\d+$/, '');
      ids.push(await f.put('q', { text, ...(key === '-' ? {} : { fairKey: key }), ...more }));
    }
    return ids;
  };
  const texts = async (count = 100, more: Partial<LeaseRequest> = {}): Promise<string> => {
    const jobs = await f.lease('q', { count, ...more });
    return jobs.map(({ body }) => body.toString()).join(' ');
  };
  /** The ids of all ready jobs, from pages of so many. */
  const listed = async (limit: number, more: object = {}): Promise<string[]> => {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await f.engine.jobs.list(
        f.ns,
        { queue: 'q', state: 'ready' },
        { limit, ...more, ...(cursor && { cursor }) },
      );
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    return ids;
  };
  /** Lets the timer move jobs until it has moved all. */
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) await f.pass(1);
  };
  const factsOf = async (): Promise<Record<string, string>> => {
    const flat = (await f.pool.read('HGETALL', `{${f.ns}}:i1`)) as string[];
    return Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])));
  };

  it('serves fair keys in turns, whatever their backlogs', async () => {
    await put('a1 a2 a3 a4 b1 b2 c1');
    expect(await texts(1)).toBe('a1');
    expect(await texts(3)).toBe('b1 c1 a2');
    expect(await texts()).toBe('b2 a3 a4');
    expect(await f.counts()).toMatchObject({ ready: 0, leased: 7 });
  });

  it('serves jobs without a key in turns together, simple ones too', async () => {
    await put('a1 a2 -1 -2');
    await f.publish('q', { text: '-3' });
    expect(await texts()).toBe('-1 a1 -2 a2 -3');
  });

  it('forgets the turns of its keys when no job is ready, and not before', async () => {
    const turns = (): Promise<unknown> => f.pool.read('EXISTS', `{${f.ns}}:A1`);
    const long = { ttrMs: 3_600_000 };
    await put('a1 b1 -1');
    expect(await texts(2, long)).toBe('-1 a1');
    await f.engine.tidyNow(f.ns);
    expect(await turns()).toBe(1);
    expect(await texts(100, long)).toBe('b1');
    await f.publish('q', { text: '-2' });
    await f.pass(600_000);
    await f.engine.tidyNow(f.ns);
    expect(await turns()).toBe(1);
    expect(await texts(100, long)).toBe('-2');
    await f.pass(600_000);
    await f.engine.tidyNow(f.ns);
    expect(await turns()).toBe(0);
  });

  it('takes the concurrency key of a job without a fair key', async () => {
    await put('-1 -2', { concurrencyKey: 'a' });
    await put('b1');
    expect(await texts()).toBe('-1 b1 -2');
  });

  it('keeps keys apart that are long, or look like the name of a long one', async () => {
    const long = 'a'.repeat(255);
    await put('x1 x2', { fairKey: long });
    await put('y1', { fairKey: `${long.slice(1)}b` });
    await put('z1', { fairKey: '#1' });
    expect((await texts()).split(' ').toSorted().join(' ')).toBe('x1 x2 y1 z1');
    expect(await f.counts()).toMatchObject({ ready: 0 });
  });

  it('gives leases by weight', async () => {
    await setFair({ weights: { a: 3 }, default: 1 });
    await put('a1 a2 a3 a4 a5 a6 a7 a8 b1 b2 b3 b4');
    const first = await texts(8);
    expect(first.match(/a/g)).toHaveLength(6);
    expect(first.match(/b/g)).toHaveLength(2);
  });

  it('takes the default weight for keys that it does not name', async () => {
    await setFair({ weights: { a: 1 }, default: 2 });
    await put('a1 a2 a3 a4 b1 b2 b3 b4');
    expect((await texts(6)).match(/b/g)).toHaveLength(4);
  });

  it('keeps priorities within a key only', async () => {
    await put('a1 a2', { priority: 5 });
    await put('a3', { priority: -5 });
    await put('b1 b2');
    expect(await texts()).toBe('a3 b1 a1 b2 a2');
  });

  it('gives no credit to a key that had no jobs', async () => {
    await put('a1 a2 a3 a4 a5 a6');
    expect(await texts(3)).toBe('a1 a2 a3');
    await put('b1 b2 b3');
    expect(await texts()).toBe('b1 a4 b2 a5 b3 a6');
  });

  it('remembers the turn of a key whose only job is leased, so that it does not come first again', async () => {
    await put('a1 b1 b2 c1 c2');
    expect(await texts(1)).toBe('a1');
    await put('a2');
    expect(await texts()).toBe('b1 c1 a2 b2 c2');
  });

  it('keeps nothing of a key that has no jobs, once others were served', async () => {
    await put('a1 b1 c1 d1');
    await texts();
    await put('e1 e2 e3');
    await texts();
    await put('f1 f2 f3');
    await texts();
    const keys = (await f.keys())
      .map((key) => key.slice(f.ns.length + 3))
      .filter((key) => /^[qQ]\d/.test(key));
    expect(keys).toEqual([]);
    expect(Number(await f.pool.read('ZCARD', `{${f.ns}}:A1`))).toBeLessThan(3);
  });

  it('pays a lease of a simple job back that is undone', async () => {
    for (const text of ['-1', '-2']) await f.publish('q', { text });
    await put('a1 a2');
    expect(await texts(1)).toBe('-1');
    const [job] = await f.lease('q');
    expect(job?.body.toString()).toBe('a1');
    const [simple] = await f.lease('q');
    expect(simple?.body.toString()).toBe('-2');
    await f.engine.undo(f.ns, [simple!]);
    expect(await texts()).toBe('-2 a2');
  });

  it('pays a lease back that is undone', async () => {
    await put('a1 a2 b1 b2');
    const [job] = await f.lease('q');
    expect(job?.body.toString()).toBe('a1');
    await f.engine.undo(f.ns, [job!]);
    expect(await texts()).toBe('a1 b1 a2 b2');
  });

  it('charges nothing for a job that expired', async () => {
    await put('a1', { ttlMs: 10 });
    await put('a2 a3 b1 b2');
    f.nowMs += 20;
    expect(await texts()).toBe('a2 b1 a3 b2');
  });

  it('gives jobs of some types in turns, too', async () => {
    await put('a1 a2 a3', { type: 'mail' });
    await put('a4 b1 b2', { type: 'sms' });
    await put('b3 c1');
    expect(await texts(1, { types: ['none'] })).toBe('');
    expect(await texts(2, { types: ['mail'] })).toBe('a1 a2');
    expect(await texts(2, { types: ['sms'] })).toBe('b1 b2');
    expect(await texts(9, { types: [null] })).toBe('c1 b3');
    await put('d1', { type: 'mail' });
    expect(await texts(9, { types: ['mail', 'sms'] })).toBe('a3 d1 a4');
  });

  it('orders jobs by type that were ready before the first lease by type', async () => {
    await put('a1 b1 a2', { type: 'mail' });
    await put('b2 -1', { type: 'sms' });
    expect(await texts(9, { types: ['sms'] })).toBe('-1 b2');
    expect(await texts(1)).toBe('a1');
    expect(await texts(9, { types: ['mail'] })).toBe('a2 b1');
    expect(await f.counts()).toMatchObject({ ready: 0, leased: 5 });
  });

  it('lists, cancels, moves and changes jobs in lists of keys', async () => {
    const ids = await put('a1 a2 a3 b1 b2', { type: 'mail' });
    await texts(1, { types: ['none'] });
    expect((await listed(2)).toSorted()).toEqual(ids.toSorted());
    await f.engine.jobs.cancel(f.ns, ids[0]!);
    await f.engine.jobs.change(f.ns, ids[2]!, { priority: -1 });
    await f.engine.jobs.change(f.ns, ids[3]!, { queue: 'other' });
    await f.engine.jobs.change(f.ns, ids[4]!, { type: 'sms' });
    expect(await f.counts()).toMatchObject({ ready: 3 });
    expect(await texts(9, { types: ['mail'] })).toBe('a3 a2');
    expect(await texts()).toBe('b2');
  });

  it('lists and purges many keys, and more jobs of a key than a page has', async () => {
    const ids = await put(
      Array.from({ length: 150 }, (_, i) => `k${String.fromCodePoint(0x4e00 + (i % 140))}1`).join(' '),
    );
    const more = await put(Array.from({ length: 30 }, (_, i) => `a${String(i)}`).join(' '));
    for (const limit of [7, 50, 1000]) {
      const found = await listed(limit);
      expect(found.toSorted()).toEqual([...ids, ...more].toSorted());
    }
    expect((await listed(9, { order: 'newest' })).toSorted()).toEqual([...ids, ...more].toSorted());
    await f.engine.queues.purge(f.ns, 'q', ['ready']);
    expect(await f.counts()).toMatchObject({ ready: 0 });
    expect(await listed(9)).toEqual([]);
  });

  it('takes over the jobs that were ready before it became fair, in their order', async () => {
    await setFair(false);
    await settle();
    await put('a1 a2 a3 b1 -1', { type: 'mail' });
    await put('a4 b2', { priority: -1 });
    await f.publish('q', { text: '-2' });
    await setFair(true);
    await settle();
    expect(await factsOf()).toMatchObject({ fair: 'on' });
    expect(await factsOf()).not.toHaveProperty('fair_order');
    await put('a5 b3');
    expect(await texts()).toBe('-1 a4 b2 -2 a1 b1 a2 b3 a3 a5');
  });

  it('takes over jobs of a queue that is leased by type', async () => {
    await setFair(false);
    await settle();
    await put('a1 b1 a2', { type: 'mail' });
    await texts(1, { types: ['none'] });
    await put('a3 b2', { type: 'sms' });
    await put('-1 c1');
    await setFair(true);
    await settle();
    expect(await texts(9, { types: ['mail'] })).toBe('a1 b1 a2');
    expect(await texts(9, { types: ['sms', null] })).toBe('c1 -1 b2 a3');
  });

  it.each([false, true])(
    'gives its jobs back to the one order when it is fair no more, by type: %s',
    async (isByType) => {
      if (isByType) await texts(1, { types: ['none'] });
      await put('a1 a2 a3 b1', { type: 'mail' });
      await put('b2 -1');
      await put('b3', { priority: -1 });
      await setFair(false);
      await put('a4 c1');
      await settle();
      const facts = await factsOf();
      for (const field of ['fair', 'fair_order', 'served_turn', 'common_turn'])
        expect(facts).not.toHaveProperty(field);
      expect((await f.keys()).filter((key) => /:[qQA]\d/.test(key))).toEqual([]);
      expect(await texts()).toBe('b3 a1 a2 a3 b1 b2 -1 a4 c1');
    },
  );

  it('is leased while its jobs are taken over, and none is lost or given twice', async () => {
    await setFair(false);
    await settle();
    const names = Array.from({ length: 700 }, (_, i) => `${'abcde'[i % 5]!}${String(i)}`);
    await put(names.join(' '));
    const seen: string[] = [];
    for (let fair = true; seen.length < names.length; fair = !fair) {
      await setFair(fair);
      for (let i = 0; i < 3; i++) {
        await f.pass(1);
        seen.push(...(await texts(17)).split(' ').filter(Boolean));
      }
    }
    expect(seen.toSorted()).toEqual(names.toSorted());
    await settle();
  });

  it('ends with its queue, when that is deleted', async () => {
    await put('a1 a2 b1');
    const jobs = await f.lease('q', { count: 9 });
    for (const { id, lease } of jobs) await f.engine.ack(f.ns, 'q', id, lease);
    await f.engine.queues.forget(f.ns, 'q');
    expect((await f.keys()).filter((key) => /:[qQA]\d/.test(key))).toEqual([]);
  });
});
