import type { JobFilter } from '../../src/domain/job-lists.js';
import { Redis } from 'ioredis';
import { startRedis } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';
import { FullFixture } from './full-fixture.js';

let f: EngineFixture;
let full: FullFixture;
beforeEach(async () => {
  f = await EngineFixture.withClock();
  full = new FullFixture(f);
});
afterEach(() => f.close());

/** The ids of a whole list, in pages of `limit`. */
async function list(filter: JobFilter, limit = 100): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 100; pages++) {
    const page = await full.lane.lists.list(f.ns, filter, { limit, cursor });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    ids.push(...page.items.map(({ id }) => id));
    if (page.cursor === null) return ids;
    cursor = page.cursor;
  }
  throw new Error('the list has no end');
}

async function inOrder(count: number, put: (i: number) => Promise<string>): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await put(i));
  return ids;
}

describe('lists', () => {
  it('show ready jobs in the order in which they run, plain and rich', async () => {
    const late = await full.put('q', { priority: 5 });
    const line = await inOrder(3, (i) => (i === 1 ? f.publish('q') : full.put('q')));
    const soon = await full.put('q', { priority: -5 });

    expect(await list({ queue: 'q', state: 'ready' })).toEqual([soon, ...line, late]);
    expect(await list({ queue: 'q', state: 'ready' }, 2)).toEqual([soon, ...line, late]);
  });

  it('show each state, and a whole queue', async () => {
    const dead = await full.put('q');
    await full.fail('q', 'g');
    const leased = await full.put('q');
    await full.lease('q', 1, 'w');
    const plain = await f.publish('q', { delayMs: 30_000 });
    const far = await f.publish('q', { delayMs: 3_600_000 });
    const scheduled = await full.put('q', { delayMs: 20_000 });
    const ready = await full.put('q');
    const done = await full.put('other', { retentionMs: 60_000 });
    const [job] = await full.lease('other');
    await full.lane.owners.complete(f.ns, [{ id: done, lease: job?.lease ?? 0 }]);

    expect(await list({ queue: 'q', state: 'dead' })).toEqual([dead]);
    expect(await list({ queue: 'q', state: 'leased' })).toEqual([leased]);
    expect(await list({ queue: 'q', state: 'scheduled' }, 1)).toEqual([scheduled, plain, far]);
    expect(await list({ queue: 'q' }, 2)).toEqual([ready, scheduled, plain, far, leased, dead]);
    expect(await list({ state: 'done' })).toEqual([done]);
    expect(await list({ state: 'cancelled' })).toEqual([]);
    expect(new Set(await list({}, 3))).toEqual(new Set([dead, leased, plain, far, scheduled, ready, done]));
    const { items } = await full.lane.lists.list(f.ns, { queue: 'q', state: 'leased' }, { limit: 1 });
    expect(items[0]).toMatchObject({ id: leased, worker: 'w', leaseEndsAtMs: f.nowMs + 10_000, attempts: 1 });
  });

  it('find by tag, type and attributes, several at once', async () => {
    const one = await full.put('q', { tags: ['a', 'b'], type: 'mail', attributes: { to: 'x' } });
    const two = await full.put('p', { tags: ['b'], type: 'mail' });
    await full.put('q', { type: 'other' });

    expect(await list({ tag: 'b' })).toEqual([one, two].sort());
    expect(await list({ tag: 'b', queue: 'p' })).toEqual([two]);
    expect(await list({ type: 'mail', tag: 'a' })).toEqual([one]);
    expect(await list({ type: 'mail', attributes: { to: 'x' } })).toEqual([one]);
    expect(await list({ tag: 'none' })).toEqual([]);
  });

  it('lose nothing and repeat nothing while jobs go, though all have one score', async () => {
    const ids = await inOrder(30, () => full.put('q', { tags: ['same'] }));
    const order = [...ids].sort();
    const first = await full.lane.lists.list(f.ns, { tag: 'same' }, { limit: 10 });
    // Whoever stood at the cursor is gone, and others before and behind it.
    const gone = [0, 3, 9, 10, 17].map((i) => order[i] ?? '');
    await f.engine.ackMany(
      f.ns,
      gone.map((id) => ({ queue: 'q', id })),
    );

    const rest: string[] = [];
    for (let { cursor } = first; cursor !== null;) {
      const page = await full.lane.lists.list(f.ns, { tag: 'same' }, { limit: 7, cursor });
      rest.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
    }

    expect(first.items.map(({ id }) => id)).toEqual(order.slice(0, 10));
    expect(rest).toEqual(order.slice(10).filter((id) => !gone.includes(id)));
  });

  it('go on in a line whose head was taken meanwhile', async () => {
    const ids = await inOrder(12, () => full.put('q'));
    const { cursor } = await full.lane.lists.list(f.ns, { queue: 'q', state: 'ready' }, { limit: 6 });
    await full.lease('q', 3);

    const { items } = await full.lane.lists.list(
      f.ns,
      { queue: 'q', state: 'ready' },
      { limit: 6, cursor: cursor ?? '' },
    );

    expect(items.map(({ id }) => id)).toEqual(ids.slice(6));
  });

  it('shows all of a line, each job once, though thousands before the place were swept out meanwhile', async () => {
    const many = async (count: number, ttlMs: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let i = 0; i < count; i += 60)
        ids.push(
          ...(await f.engine.publishMany(
            f.ns,
            'q',
            Array.from({ length: 60 }, () => newJob({ ttlMs })),
          )),
        );
      return ids;
    };
    await many(2_520, 1_000);
    const stay = await many(300, 0);
    const seen: string[] = [];
    let cursor: string | undefined;
    for (const limit of [1_000, 1_000, 620, 100, 100, 1_000]) {
      const page = await full.lane.lists.list(f.ns, { queue: 'q', state: 'ready' }, { limit, cursor });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.cursor ?? undefined;
      if (seen.length !== 2_620) continue;
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);
    }
    expect(cursor).toBeUndefined();
    expect(seen.slice(2_520)).toEqual(stay);
  });

  it('refuse a cursor that nobody was given', async () => {
    for (const cursor of ['', 'x', '0/1', '0//!/q']) {
      await expect(full.lane.lists.list(f.ns, {}, { limit: 1, cursor })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
  });
});

describe('tags', () => {
  it('are counted exactly, however often one is added (Q10)', async () => {
    const id = await full.put('q', { tags: ['a'] });
    const plain = await f.publish('p');
    const { marks } = full.lane;

    expect(await marks.addTags(f.ns, id, ['a', 'b', 'a'])).toEqual(['a', 'b']);
    expect(await marks.addTags(f.ns, id, ['a', 'b'])).toEqual(['a', 'b']);
    expect(await marks.addTags(f.ns, plain, ['b'])).toEqual(['b']);
    expect(await full.tags()).toEqual({ a: 1, b: 2 });
    expect(await marks.removeTags(f.ns, id, ['a', 'none'])).toEqual(['b']);
    expect(await marks.removeTags(f.ns, id, ['a'])).toEqual(['b']);
    expect(await full.tags()).toEqual({ b: 2 });
    expect(await marks.tagsOf(f.ns, id)).toEqual(['b']);
  });

  it('go with their jobs on every way out', async () => {
    const { marks, owners } = full.lane;
    const ids = await inOrder(5, (i) =>
      full.put('q', { tags: ['t', `own${String(i)}`], ttlMs: i === 4 ? 5_000 : 0 }),
    );
    const [done, dead] = await full.lease('q', 2, 'w');
    await owners.complete(f.ns, [{ id: done?.id ?? '', lease: done?.lease ?? 0 }]);
    await owners.fail(f.ns, { id: dead?.id ?? '', lease: dead?.lease ?? 0, group: 'g', message: 'm' });
    expect(await full.tags()).toEqual({ t: 4, own1: 1, own2: 1, own3: 1, own4: 1 });
    await f.engine.ack(f.ns, 'q', ids[2] ?? '');
    f.nowMs += 5_001;
    await f.engine.pumpNow(f.ns);
    await full.lane.dead.deleteIds(f.ns, [ids[1] ?? '']);

    expect(await full.tags()).toEqual({ t: 1, own3: 1 });
    await marks.removeTags(f.ns, ids[3] ?? '', ['t', 'own3']);
    await f.engine.ack(f.ns, 'q', ids[3] ?? '');
    f.nowMs += 86_400_001;
    await f.engine.pumpNow(f.ns);
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
  });

  it('may change on a job that runs, and on one that is far ahead', async () => {
    const id = await f.publish('q');
    const far = await f.publish('q', { delayMs: 3_600_000 });
    const [job] = await f.reserve('q');
    await full.lane.marks.addTags(f.ns, id, ['hot']);
    await full.lane.marks.addTags(f.ns, far, ['later']);

    expect(await list({ tag: 'hot' })).toEqual([id]);
    expect(await full.lane.looking.find(f.ns, id)).toMatchObject({ state: 'leased', tags: ['hot'] });
    expect(await f.engine.ack(f.ns, 'q', id, job?.lease)).toBe(true);
    expect(await list({ queue: 'q', state: 'scheduled' })).toEqual([far]);
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ scheduled: 1 }]);
    expect(await full.tags()).toEqual({ later: 1 });
  });

  it('are at most 32, and of jobs that are there', async () => {
    const id = await full.put('q');
    const many = Array.from({ length: 33 }, (_, i) => `t${String(i)}`);
    const { marks } = full.lane;

    await expect(marks.addTags(f.ns, id, many)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await marks.tagsOf(f.ns, id)).toEqual([]);
    await expect(marks.addTags(f.ns, 'nobody', ['a'])).rejects.toMatchObject({ code: 'job_not_found' });
    expect(await full.tags()).toEqual({});
  });

  it('are named like keys of ours without harm', async () => {
    for (const tag of ['ags', 'imers', 'racked', 'races', ':', '0'])
      await full.put('q', { tags: [tag], type: tag });
    await full.lease('q', 1, 'aiting');

    expect(Object.keys(await full.tags()).sort()).toEqual(['0', ':', 'ags', 'imers', 'races', 'racked']);
    expect(await list({ worker: 'aiting' })).toHaveLength(1);
  });
});

describe('tracked jobs', () => {
  it('are listed, until they are untracked or gone for a day', async () => {
    const { marks } = full.lane;
    const rich = await full.put('q');
    const plain = await f.publish('p');
    await marks.track(f.ns, rich);
    await marks.track(f.ns, plain);
    await marks.track(f.ns, plain);

    expect((await list({ tracked: true })).sort()).toEqual([rich, plain].sort());
    expect(await marks.untrack(f.ns, rich)).toBe(true);
    await f.engine.ack(f.ns, 'p', plain);
    expect(await list({ tracked: true })).toEqual([]);
    expect(await marks.traces(f.ns)).toEqual([{ id: plain, goneAtMs: f.nowMs }]);
    f.nowMs += 86_400_000;
    await f.engine.pumpNow(f.ns);
    expect(await marks.traces(f.ns)).toEqual([]);
  });

  it('may be untracked when they are gone (Q15)', async () => {
    const id = await full.put('q');
    await full.lane.marks.track(f.ns, id);
    await f.engine.ack(f.ns, 'q', id);
    expect(await full.lane.marks.traces(f.ns)).toHaveLength(1);

    expect(await full.lane.marks.untrack(f.ns, id)).toBe(false);
    expect(await full.lane.marks.untrack(f.ns, 'nobody')).toBe(false);
    expect(await full.lane.marks.traces(f.ns)).toEqual([]);
  });

  it('are told of with a mark', async () => {
    const id = await full.put('q');
    await f.pool.read('SET', `{${f.ns}}:listening`, '1');
    await f.pool.read('XADD', `{${f.ns}}:events`, '*', 'e', '');
    await full.lane.marks.track(f.ns, id);
    await full.lease('q');
    await full.lane.marks.untrack(f.ns, id);
    const entries = (await f.pool.read('XRANGE', `{${f.ns}}:events`, '-', '+')) as [Buffer, Buffer[]][];

    const told = entries
      .map(
        ([, fields]) =>
          new Map(
            fields.flatMap((_, i) => (i % 2 === 0 ? [[String(fields[i]), String(fields[i + 1])]] : [])),
          ),
      )
      .filter((fields) => fields.get('e') !== '')
      .map((fields) => [
        fields.get('e'),
        (JSON.parse(fields.get('d') ?? '') as { tracked?: boolean }).tracked,
      ]);
    expect(told).toEqual([
      ['tracked', true],
      ['leased', true],
      ['untracked', true],
    ]);
    const job = await full.lane.looking.find(f.ns, id);
    expect(job?.timeline.every((entry) => !('tracked' in entry))).toBe(true);
  });
});

describe('workers', () => {
  it('are known with what they have and what they left', async () => {
    await inOrder(3, () => full.put('q'));
    const [first] = await full.lease('q', 2, 'one', 1_000);
    await full.lease('q', 1, 'two', 60_000);
    f.nowMs += 1_001;
    await f.engine.pumpNow(f.ns);
    const { workers, owners } = full.lane;

    expect(
      (await workers.list(f.ns, { limit: 10 })).items
        .map(({ name, leased, stalled }) => [name, leased, stalled])
        .sort(),
    ).toEqual([
      ['one', 0, 2],
      ['two', 1, 0],
    ]);
    expect(await list({ worker: 'one' })).toHaveLength(2);
    await owners.heartbeat(f.ns, { id: first?.id ?? '', lease: 1 });
    expect(await workers.find(f.ns, 'one')).toEqual({
      name: 'one',
      seenAtMs: f.nowMs,
      leased: 1,
      stalled: 1,
    });
    await full.lease('q', 1, 'two');
    expect(await workers.find(f.ns, 'one')).toMatchObject({ leased: 1, stalled: 0 });
    await owners.complete(f.ns, [{ id: first?.id ?? '', lease: 1 }]);
    expect(await workers.find(f.ns, 'one')).toMatchObject({ leased: 0, stalled: 0 });
    expect(await workers.find(f.ns, 'two')).toMatchObject({ leased: 2 });
  });

  it('are forgotten when they say so, or after a day', async () => {
    await full.put('q');
    const [job] = await full.lease('q', 1, 'one');
    const { workers, owners } = full.lane;

    expect(await workers.deregister(f.ns, 'one')).toBe(true);
    expect(await workers.deregister(f.ns, 'one')).toBe(false);
    expect(await workers.find(f.ns, 'one')).toBeNull();
    await owners.heartbeat(f.ns, { id: job?.id ?? '', lease: 1 }, { ttrMs: 1_000 });
    expect(await workers.find(f.ns, 'one')).toMatchObject({ leased: 1 });
    f.nowMs += 86_400_000;
    await full.lease('q', 1, 'other');
    await f.engine.pumpNow(f.ns);
    expect((await workers.list(f.ns, { limit: 10 })).items.map(({ name }) => name)).toEqual(['other']);
  });

  it('may ask a full store, which notes nothing of them', async () => {
    const redis = await startRedis();
    const own = await EngineFixture.open({}, { url: redis.url });
    const admin = new Redis(redis.port, '127.0.0.1');
    try {
      await own.publish('q');
      await own.reserve('q', { worker: 'one' });
      await admin.config('SET', 'maxmemory', '1');

      expect(await own.reserve('q', { worker: 'two' })).toEqual([]);
      const { items } = await own.engine.full.workers.list(own.ns, { limit: 10 });
      expect(items.map(({ name }) => name)).toEqual(['one']);
    } finally {
      admin.disconnect();
      await own.close();
      await redis.stop();
    }
  });
});
