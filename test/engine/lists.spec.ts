import { Redis } from 'ioredis';
import type { JobFilter, JobsRequest } from '../../src/domain/job/job-lists.js';
import { encodeId } from '../../src/engine/core/ids.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { startRedis, testRedisUrl } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';
import { ExtendedFixture } from './extended-fixture.js';

describe('lists of jobs', () => {
  let f: EngineFixture;
  let extended: ExtendedFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    extended = new ExtendedFixture(f);
  });
  afterEach(() => f.close());

  /** The ids of a whole list, in pages of `limit`. */
  async function list(filter: JobFilter, limit = 100, order?: JobsRequest['order']): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < 100; pages++) {
      const page = await extended.components.lists.list(f.ns, filter, {
        limit,
        cursor,
        ...(order && { order }),
      });
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

  describe('a list', () => {
    it('shows ready simple and extended jobs in run order', async () => {
      const late = await extended.put('q', { priority: 5 });
      const line = await inOrder(3, (i) => (i === 1 ? f.publish('q') : extended.put('q')));
      const soon = await extended.put('q', { priority: -5 });

      expect(await list({ queue: 'q', state: 'ready' })).toEqual([soon, ...line, late]);
      expect(await list({ queue: 'q', state: 'ready' }, 2)).toEqual([soon, ...line, late]);
    });

    it.each(['oldest', 'newest'] as const)(
      'fills its pages from many queues with one job each, %s first',
      async (order) => {
        const ids = await inOrder(120, (i) => f.publish(`q${String(i).padStart(3, '0')}`));
        const wanted = order === 'oldest' ? ids : ids.toReversed();

        const first = await extended.components.lists.list(f.ns, {}, { limit: 100, order });
        expect(first.items.map(({ id }) => id)).toEqual(wanted.slice(0, 100));
        const { queue } = first.items.at(-1) ?? { queue: '' };
        // The cursor names this queue.
        await extended.components.queuePurger.purge(f.ns, queue, ['ready']);
        await extended.components.queueControls.forget(f.ns, queue);
        const rest = await extended.components.lists.list(
          f.ns,
          {},
          { limit: 100, order, cursor: first.cursor ?? '' },
        );
        expect(rest.items.map(({ id }) => id)).toEqual(wanted.slice(100));
        expect(rest.cursor).toBeNull();
      },
    );

    it('reads at most 200 jobs in one step, also where an index ends just before that', async () => {
      const calls: string[] = [];
      const observer = { ...silentObserver, script: (name: string) => void calls.push(name) };
      const own = await EngineFixture.withClock({ observer });
      const many = new ExtendedFixture(own);
      // With the indexes themselves, one is left of the 200 when the index of priorities begins.
      await inOrder(198, () => own.publish('q'));
      await inOrder(600, () => many.put('q', { priority: 1 }));
      const wanted = await many.put('q', { priority: 1, attributes: { shop: 'a' } });
      calls.length = 0;

      const filter: JobFilter = { queue: 'q', attributes: { shop: 'a' } };
      const { items } = await many.components.lists.list(own.ns, filter, { limit: 10 });
      expect(items.map(({ id }) => id)).toEqual([wanted]);
      expect(calls.filter((name) => name === 'queries_list_jobs').length).toBeGreaterThanOrEqual(4);
      await own.close();
    });

    it('shows the jobs of one state, and of a whole queue', async () => {
      const dead = await extended.put('q');
      await extended.fail('q', 'g');
      const leased = await extended.put('q');
      await extended.lease('q', 1, 'w');
      const simple = await f.publish('q', { delayMs: 30_000 });
      const far = await f.publish('q', { delayMs: 3_600_000 });
      const scheduled = await extended.put('q', { delayMs: 20_000 });
      const ready = await extended.put('q');
      const done = await extended.put('other', { retentionMs: 60_000 });
      const [job] = await extended.lease('other');
      await extended.components.leaseOperations.complete(f.ns, [{ id: done, lease: job?.lease ?? 0 }]);

      expect(await list({ queue: 'q', state: 'dead' })).toEqual([dead]);
      expect(await list({ queue: 'q', state: 'leased' })).toEqual([leased]);
      expect(await list({ queue: 'q', state: 'scheduled' }, 1)).toEqual([scheduled, simple, far]);
      expect(await list({ queue: 'q' }, 2)).toEqual([ready, scheduled, simple, far, leased, dead]);
      expect(await list({ state: 'done' })).toEqual([done]);
      expect(await list({ state: 'cancelled' })).toEqual([]);
      expect(new Set(await list({}, 3))).toEqual(
        new Set([dead, leased, simple, far, scheduled, ready, done]),
      );
      const { items } = await extended.components.lists.list(
        f.ns,
        { queue: 'q', state: 'leased' },
        { limit: 1 },
      );
      expect(items[0]).toMatchObject({
        id: leased,
        worker: 'w',
        leaseEndsAtMs: f.nowMs + 10_000,
        attempts: 1,
      });
    });

    describe('a list of ended jobs', () => {
      const BOTH: JobFilter['state'] = ['done', 'cancelled'];

      /** Ends jobs one after the other, every second one by a cancel; two of each kind in each millisecond. */
      async function end(count: number): Promise<{ done: string[]; cancelled: string[] }> {
        const ids = { done: [] as string[], cancelled: [] as string[] };
        for (let i = 0; i < count; i++) {
          const id = await extended.put('q', { retentionMs: 60_000, type: 'x' });
          if (i % 2 === 1) await extended.components.jobCanceller.cancel(f.ns, id);
          else await extended.components.leaseOperations.complete(f.ns, await extended.lease('q'));
          ids[i % 2 === 1 ? 'cancelled' : 'done'].push(id);
          if (i % 4 === 3) f.nowMs++;
        }
        return ids;
      }
      const endsOf = async (filter: JobFilter, order: 'oldest' | 'newest') =>
        (await extended.components.lists.list(f.ns, filter, { limit: 100, order })).items.map(
          ({ endedAtMs }) => endedAtMs ?? 0,
        );

      it('is sorted by end time in each state and in both orders, with any page size', async () => {
        const startMs = f.nowMs;
        const ids = await end(24);
        for (const state of ['done', 'cancelled'] as const) {
          const filter = { queue: 'q', state };
          const oldest = await list(filter, 100, 'oldest');
          expect([...oldest].sort()).toEqual([...ids[state]].sort());
          const times = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5].map((ms) => startMs + ms);
          expect(await endsOf(filter, 'oldest')).toEqual(times);
          expect(await endsOf(filter, 'newest')).toEqual(times.toReversed());
          for (const limit of [1, 2, 5]) {
            expect(await list(filter, limit, 'oldest')).toEqual(oldest);
            expect(await list(filter, limit, 'newest')).toEqual(oldest.toReversed());
          }
        }
        const done = await list({ queue: 'q', state: 'done' });
        const cancelled = await list({ queue: 'q', state: 'cancelled' });
        for (const limit of [1, 3, 100]) {
          expect(await list({ queue: 'q', state: BOTH }, limit)).toEqual([...done, ...cancelled]);
          expect(await list({ queue: 'q' }, limit)).toEqual([...done, ...cancelled]);
          expect(await list({ queue: 'q', state: ['cancelled', 'done'] }, limit, 'newest')).toEqual(
            [...cancelled, ...done].reverse(),
          );
        }
      });

      it('shows each job once while other jobs end and are removed', async () => {
        const first = await end(20);
        for (const order of ['oldest', 'newest'] as const)
          for (const state of ['done', 'cancelled'] as const) {
            const filter = { queue: 'q', state };
            const all = await list(filter, 100, order);
            const page = await extended.components.lists.list(f.ns, filter, { limit: 3, order });
            const [last] = all.slice(-1);
            await extended.components.jobCanceller.remove(f.ns, last ?? '');
            await extended.components.jobCanceller.remove(f.ns, all[2] ?? '');
            await end(4);
            const rest: string[] = [];
            for (let cursor = page.cursor; cursor !== null;) {
              const next = await extended.components.lists.list(f.ns, filter, { limit: 2, cursor, order });
              rest.push(...next.items.map(({ id }) => id));
              cursor = next.cursor;
            }
            const isNew = (id: string): boolean => !all.includes(id);
            expect(rest.filter((id) => !isNew(id))).toEqual(all.slice(3, -1));
            expect(rest.filter(isNew)).toHaveLength(order === 'oldest' ? 2 : 0);
          }
        expect(first.done).toHaveLength(10);
        expect(await f.audit()).toEqual([]);
      });

      it('shows jobs that an older server cancelled as the counts do: as done', async () => {
        const { cancelled } = await end(4);
        const [old = '', recent = ''] = cancelled;
        const number = Math.abs(Number(await f.pool.read('HGET', f.pool.keys.namespace(f.ns).queues, 'q')));
        // As a server of the version before stores it.
        const redis = new Redis(testRedisUrl());
        await redis.zadd(`{${f.ns}}:z${String(number)}`, f.nowMs - 1, encodeId(old)!);
        redis.disconnect();

        expect(await f.counts()).toMatchObject({ done: 3, cancelled: 1 });
        expect(await list({ queue: 'q', state: 'cancelled' })).toEqual([recent]);
        expect(await list({ queue: 'q', state: 'done' })).not.toContain(old);
        for (const filter of [{ queue: 'q' }, { queue: 'q', state: BOTH }])
          expect(await endsOf(filter, 'oldest')).toEqual(new Array(4).fill(f.nowMs - 1));
        expect(await extended.components.queuePurger.count(f.ns, 'q', ['done', 'cancelled'])).toEqual({
          done: 2,
          cancelled: 2,
        });
        await extended.components.queuePurger.purge(f.ns, 'q', ['cancelled']);
        expect(await f.find(old)).toBeNull();
        expect(await f.counts()).toMatchObject({ done: 2, cancelled: 0 });
      });
    });

    describe('a list in reverse', () => {
      const page = (filter: JobFilter, limit: number, cursor?: string) =>
        extended.components.lists.list(f.ns, filter, { limit, cursor, order: 'newest' });
      /** The ids of a list from a cursor on. */
      const rest = async (filter: JobFilter, limit: number, from: string | null): Promise<string[]> => {
        const ids: string[] = [];
        for (let cursor = from; cursor !== null;) {
          const found = await page(filter, limit, cursor);
          ids.push(...found.items.map(({ id }) => id));
          cursor = found.cursor;
        }
        return ids;
      };

      it('shows the same jobs as forward, each once, with any filter and page size', async () => {
        const { queueControls: controls, leaseOperations, jobCanceller } = extended.components;
        await controls.change(f.ns, 'held', { maxRunningPerKey: 1 });
        for (const queue of ['a', 'b', 'held']) {
          const ends = { retentionMs: 60_000, tags: ['t'], type: 'x' };
          await inOrder(3, () => extended.put(queue, { ...ends, concurrencyKey: 'k' }));
          for (const { id, lease } of await extended.lease(queue, 2))
            await leaseOperations.complete(f.ns, [{ id, lease }]);
          await extended.fail(queue, 'g', 'm', 1);
          await inOrder(2, () => extended.put(queue, ends));
          await extended.fail(queue, 'g', 'm', 2);
          await inOrder(3, () => extended.put(queue, { ...ends, concurrencyKey: 'k' }));
          await extended.lease(queue, 2, 'w');
          for (const priority of [-3, -3, 0, 0, 0, 7, 7]) await extended.put(queue, { ...ends, priority });
          const plain = await inOrder(3, () => f.publish(queue));
          await extended.components.jobUpdater.change(f.ns, plain[0]!, { priority: 2 });
          await extended.components.jobUpdater.change(f.ns, plain[0]!, { priority: 0 });
          await inOrder(2, () => extended.put(queue, { delayMs: 20_000 }));
          await inOrder(2, (i) => f.publish(queue, { delayMs: 30_000 + i }));
          await inOrder(3, () => f.publish(queue, { delayMs: 3_600_000 }));
          await inOrder(2, () => f.publish(queue, { delayMs: 86_400_000 }));
          await extended.put(queue, { dependsOn: [plain[1]!] });
          await jobCanceller.cancel(f.ns, await extended.put(queue, ends));
        }
        const filters: JobFilter[] = [
          {},
          ...['a', 'held'].map((queue) => ({ queue })),
          ...(['ready', 'scheduled', 'leased', 'dead', 'blocked', 'held', 'done', 'cancelled'] as const).map(
            (state) => ({ state }),
          ),
          { state: ['ready', 'dead'], queue: 'b' },
          ...[{ tag: 't' }, { type: 'x' }, { group: 'g' }, { worker: 'w' }, { tag: 't', queue: 'b' }],
          ...[{ queue: 'none' }, { tag: 'none' }],
        ];
        for (const filter of filters) {
          const oldest = await list(filter, 100, 'oldest');
          expect(await list(filter)).toEqual(oldest);
          for (const limit of [1, 2, 7, 100])
            expect([filter, limit, await list(filter, limit, 'newest')]).toEqual([
              filter,
              limit,
              oldest.toReversed(),
            ]);
        }
      });

      it('shows each job once while jobs with equal scores are added and removed', async () => {
        const filter = { tag: 'same' };
        const put = () => extended.put('q', { tags: ['same'] });
        const order = (await inOrder(30, put)).sort().reverse();
        const first = await page(filter, 10);
        const gone = [0, 3, 9, 10, 17].map((i) => order[i]!);
        await f.engine.ackMany(
          f.ns,
          gone.map((id) => ({ queue: 'q', id })),
        );
        await inOrder(3, put);

        expect(first.items.map(({ id }) => id)).toEqual(order.slice(0, 10));
        expect(await rest(filter, 7, first.cursor)).toEqual(
          order.slice(10).filter((id) => !gone.includes(id)),
        );
      });

      it('continues in a ready list that changed at both ends between two pages', async () => {
        const filter = { queue: 'q', state: 'ready' } as const;
        const ids = await inOrder(12, () => extended.put('q'));
        const { cursor } = await page(filter, 4);
        await extended.lease('q', 3);
        await inOrder(5, () => f.publish('q'));

        expect(await rest(filter, 3, cursor)).toEqual(ids.slice(3, 8).reverse());
      });

      it('shows each live job of a ready list from which expired jobs were removed between two pages', async () => {
        const filter = { queue: 'q', state: 'ready' } as const;
        const stay = await inOrder(6, () => f.publish('q'));
        const short = await inOrder(6, () => f.publish('q', { ttlMs: 1_000 }));
        const { cursor, items } = await page(filter, 3);
        expect(items.map(({ id }) => id)).toEqual(short.slice(3).reverse());
        const late = await f.publish('q');
        f.nowMs += 1_001;
        await f.engine.tidyNow(f.ns);

        const seen = await rest(filter, 2, cursor);

        expect(seen.filter((id) => id !== late)).toEqual(stay.toReversed());
      });

      it('continues in slots of far jobs while more are added', async () => {
        const filter = { queue: 'q', state: 'scheduled' } as const;
        const put = (delayMs: number) => f.publish('q', { delayMs });
        const near = await inOrder(4, () => put(3_600_000));
        const far = await inOrder(4, () => put(90_000_000));
        const { cursor } = await page(filter, 2);
        await put(90_000_000);
        await put(3_600_000);
        await put(180_000_000);

        const seen = await rest(filter, 1, cursor);

        expect(seen.filter((id) => [...near, ...far].includes(id))).toEqual([
          ...far.slice(0, 2).reverse(),
          ...near.toReversed(),
        ]);
      });

      it('shows the dead jobs between two times', async () => {
        const ids: string[] = [];
        const times: number[] = [];
        for (let i = 0; i < 6; i++) {
          ids.push(await extended.put('q'));
          await extended.fail('q', 'g');
          times.push(f.nowMs);
          f.nowMs += 10;
        }
        const between = { queue: 'q', fromMs: times[1]!, toMs: times[4]! };
        for (const filter of [between, { ...between, group: 'g' }]) {
          const found: string[] = [];
          let cursor: string | undefined;
          do {
            const dead = await extended.components.lists.listDead(f.ns, filter, {
              limit: 3,
              cursor,
              order: 'newest',
            });
            found.push(...dead.items.map(({ id }) => id));
            cursor = dead.cursor ?? undefined;
          } while (cursor !== undefined);
          expect(found).toEqual(ids.slice(1, 5).reverse());
        }
      });

      it('refuses a cursor of a list in the opposite order', async () => {
        await inOrder(3, () => f.publish('q'));
        for (const order of ['oldest', 'newest'] as const) {
          const { cursor } = await extended.components.lists.list(f.ns, { queue: 'q' }, { limit: 1, order });
          const other = order === 'oldest' ? 'newest' : 'oldest';
          const request = { limit: 1, cursor: cursor!, order: other } as const;
          await expect(extended.components.lists.list(f.ns, { queue: 'q' }, request)).rejects.toMatchObject({
            code: 'invalid_argument',
          });
        }
      });
    });

    it('finds jobs by tag, type and attributes, also by several of them', async () => {
      const one = await extended.put('q', { tags: ['a', 'b'], type: 'mail', attributes: { to: 'x' } });
      const two = await extended.put('p', { tags: ['b'], type: 'mail' });
      await extended.put('q', { type: 'other' });

      expect(await list({ tag: 'b' })).toEqual([one, two].sort());
      expect(await list({ tag: 'b', queue: 'p' })).toEqual([two]);
      expect(await list({ type: 'mail', tag: 'a' })).toEqual([one]);
      expect(await list({ type: 'mail', attributes: { to: 'x' } })).toEqual([one]);
      expect(await list({ tag: 'none' })).toEqual([]);
    });

    it('shows each job once while jobs with equal scores are removed', async () => {
      const ids = await inOrder(30, () => extended.put('q', { tags: ['same'] }));
      const order = [...ids].sort();
      const first = await extended.components.lists.list(f.ns, { tag: 'same' }, { limit: 10 });
      // The job at the cursor is gone, and others before and behind it.
      const gone = [0, 3, 9, 10, 17].map((i) => order[i] ?? '');
      await f.engine.ackMany(
        f.ns,
        gone.map((id) => ({ queue: 'q', id })),
      );

      const rest: string[] = [];
      for (let { cursor } = first; cursor !== null;) {
        const page = await extended.components.lists.list(f.ns, { tag: 'same' }, { limit: 7, cursor });
        rest.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
      }

      expect(first.items.map(({ id }) => id)).toEqual(order.slice(0, 10));
      expect(rest).toEqual(order.slice(10).filter((id) => !gone.includes(id)));
    });

    it('continues in a ready list whose head was leased between two pages', async () => {
      const ids = await inOrder(12, () => extended.put('q'));
      const { cursor } = await extended.components.lists.list(
        f.ns,
        { queue: 'q', state: 'ready' },
        { limit: 6 },
      );
      await extended.lease('q', 3);

      const { items } = await extended.components.lists.list(
        f.ns,
        { queue: 'q', state: 'ready' },
        { limit: 6, cursor: cursor ?? '' },
      );

      expect(items.map(({ id }) => id)).toEqual(ids.slice(6));
    });

    it('shows each live job of a ready list once although 2,520 expired jobs before it are removed', async () => {
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
        const page = await extended.components.lists.list(
          f.ns,
          { queue: 'q', state: 'ready' },
          { limit, cursor },
        );
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.cursor ?? undefined;
        if (seen.length !== 2_620) continue;
        f.nowMs += 1_000;
        await f.engine.tidyNow(f.ns);
      }
      expect(cursor).toBeUndefined();
      expect(seen.slice(2_520)).toEqual(stay);
    });

    it('refuses a cursor that the server did not issue', async () => {
      for (const cursor of ['', 'x', '0/1', '0//!/q']) {
        await expect(extended.components.lists.list(f.ns, {}, { limit: 1, cursor })).rejects.toMatchObject({
          code: 'invalid_argument',
        });
      }
    });
  });

  describe('tags', () => {
    it('are counted once for each job, however often they are added (Q10)', async () => {
      const id = await extended.put('q', { tags: ['a'] });
      const simple = await f.publish('p');
      const { tags } = extended.components;

      expect(await tags.addTags(f.ns, id, ['a', 'b', 'a'])).toEqual(['a', 'b']);
      expect(await tags.addTags(f.ns, id, ['a', 'b'])).toEqual(['a', 'b']);
      expect(await tags.addTags(f.ns, simple, ['b'])).toEqual(['b']);
      expect(await extended.tags()).toEqual({ a: 1, b: 2 });
      expect(await tags.removeTags(f.ns, id, ['a', 'none'])).toEqual(['b']);
      expect(await tags.removeTags(f.ns, id, ['a'])).toEqual(['b']);
      expect(await extended.tags()).toEqual({ b: 2 });
      expect(await tags.tagsOf(f.ns, id)).toEqual(['b']);
    });

    it('are removed with a job that is done, acknowledged, expired, or deleted when dead', async () => {
      const { tags, leaseOperations } = extended.components;
      const ids = await inOrder(5, (i) =>
        extended.put('q', { tags: ['t', `own${String(i)}`], ttlMs: i === 4 ? 5_000 : 0 }),
      );
      const [done, dead] = await extended.lease('q', 2, 'w');
      await leaseOperations.complete(f.ns, [{ id: done?.id ?? '', lease: done?.lease ?? 0 }]);
      await leaseOperations.fail(f.ns, {
        id: dead?.id ?? '',
        lease: dead?.lease ?? 0,
        group: 'g',
        message: 'm',
      });
      expect(await extended.tags()).toEqual({ t: 4, own1: 1, own2: 1, own3: 1, own4: 1 });
      await f.engine.ack(f.ns, 'q', ids[2] ?? '');
      f.nowMs += 5_001;
      await f.engine.pumpNow(f.ns);
      await extended.components.deadJobs.deleteIds(f.ns, [ids[1] ?? '']);

      expect(await extended.tags()).toEqual({ t: 1, own3: 1 });
      await tags.removeTags(f.ns, ids[3] ?? '', ['t', 'own3']);
      await f.engine.ack(f.ns, 'q', ids[3] ?? '');
      f.nowMs += 86_400_001;
      await f.engine.pumpNow(f.ns);
      await f.engine.tidyNow(f.ns);
      expect(await f.keys()).toEqual([]);
    });

    it('are changed on a leased job and on a far job', async () => {
      const id = await f.publish('q');
      const far = await f.publish('q', { delayMs: 3_600_000 });
      const [job] = await f.lease('q');
      await extended.components.tags.addTags(f.ns, id, ['hot']);
      await extended.components.tags.addTags(f.ns, far, ['later']);

      expect(await list({ tag: 'hot' })).toEqual([id]);
      expect(await extended.components.jobReader.find(f.ns, id)).toMatchObject({
        state: 'leased',
        tags: ['hot'],
      });
      expect(await f.engine.ack(f.ns, 'q', id, job?.lease)).toBe(true);
      expect(await list({ queue: 'q', state: 'scheduled' })).toEqual([far]);
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ scheduled: 1 }]);
      expect(await extended.tags()).toEqual({ later: 1 });
    });

    it('are refused above 32, and for an unknown job', async () => {
      const id = await extended.put('q');
      const many = Array.from({ length: 33 }, (_, i) => `t${String(i)}`);
      const { tags } = extended.components;

      await expect(tags.addTags(f.ns, id, many)).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await tags.tagsOf(f.ns, id)).toEqual([]);
      await expect(tags.addTags(f.ns, 'missing', ['a'])).rejects.toMatchObject({ code: 'job_not_found' });
      expect(await extended.tags()).toEqual({});
    });

    it('may have the names of internal keys', async () => {
      for (const tag of ['ags', 'imers', 'racked', 'races', ':', '0'])
        await extended.put('q', { tags: [tag], type: tag });
      await extended.lease('q', 1, 'aiting');

      expect(Object.keys(await extended.tags()).sort()).toEqual([
        '0',
        ':',
        'ags',
        'imers',
        'races',
        'racked',
      ]);
      expect(await list({ worker: 'aiting' })).toHaveLength(1);
    });
  });

  describe('tracked jobs', () => {
    it('are listed until they are untracked or gone, and remembered as gone for a day', async () => {
      const { tags } = extended.components;
      const extendedId = await extended.put('q');
      const simple = await f.publish('p');
      await tags.track(f.ns, extendedId);
      await tags.track(f.ns, simple);
      await tags.track(f.ns, simple);

      expect((await list({ tracked: true })).sort()).toEqual([extendedId, simple].sort());
      expect(await tags.untrack(f.ns, extendedId)).toBe(true);
      await f.engine.ack(f.ns, 'p', simple);
      expect(await list({ tracked: true })).toEqual([]);
      expect(await tags.traces(f.ns)).toEqual([{ id: simple, goneAtMs: f.nowMs }]);
      f.nowMs += 86_400_000;
      await f.engine.pumpNow(f.ns);
      expect(await tags.traces(f.ns)).toEqual([]);
    });

    it('can be untracked when they are gone (Q15)', async () => {
      const id = await extended.put('q');
      await extended.components.tags.track(f.ns, id);
      await f.engine.ack(f.ns, 'q', id);
      expect(await extended.components.tags.traces(f.ns)).toHaveLength(1);

      expect(await extended.components.tags.untrack(f.ns, id)).toBe(false);
      expect(await extended.components.tags.untrack(f.ns, 'missing')).toBe(false);
      expect(await extended.components.tags.traces(f.ns)).toEqual([]);
    });

    it('have a mark in their events', async () => {
      const id = await extended.put('q');
      await f.pool.read('SET', `{${f.ns}}:listening`, '1');
      await f.pool.read('XADD', `{${f.ns}}:events`, '*', 'e', '');
      await extended.components.tags.track(f.ns, id);
      await extended.lease('q');
      await extended.components.tags.untrack(f.ns, id);
      const entries = (await f.pool.read('XRANGE', `{${f.ns}}:events`, '-', '+')) as [Buffer, Buffer[]][];

      const changes = entries
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
      expect(changes).toEqual([
        ['tracked', true],
        ['leased', true],
        ['untracked', true],
      ]);
      const job = await extended.components.jobReader.find(f.ns, id);
      expect(job?.timeline.every((entry) => !('tracked' in entry))).toBe(true);
    });
  });

  describe('a list of stalled jobs', () => {
    /** Leases the first job of a queue for a second, which then passes. */
    const abandon = async (queue: string, worker: string): Promise<string> => {
      const [job] = await extended.lease(queue, 1, worker, 1_000);
      await f.pass(1_001);
      return job?.id ?? '';
    };

    it('has those of all queues and workers, page by page, until a worker leases them again', async () => {
      await inOrder(3, () => extended.put('q'));
      await inOrder(2, () => extended.put('r', { retry: { kind: 'fixed', delayMs: 60_000 } }));
      const ofQ = await abandon('q', 'one');
      await extended.lease('q', 3, 'one', 60_000);
      const ofR = [await abandon('r', 'one'), await abandon('r', 'two')];
      await extended.put('q');

      const all = await list({ state: 'stalled' }, 1);
      expect([...all].sort()).toEqual([...ofR].sort());
      expect(await list({ state: ['stalled'] })).toEqual(all);
      expect(await list({ state: 'stalled' }, 1, 'newest')).toEqual([...all].reverse());
      expect(await list({ state: 'stalled', worker: 'two' })).toEqual([ofR[1]]);
      expect(await list({ state: 'stalled', queue: 'r', type: 't' }, 1)).toEqual(all);
      expect(await list({ state: 'stalled', queue: 'q' })).toEqual([]);
      // The one of queue q is leased again, with those that were never stalled.
      expect(await list({ state: 'leased' })).toContain(ofQ);
    });

    it('ends with the ack of a late worker', async () => {
      const id = await extended.put('q');
      await abandon('q', 'one');
      expect(await list({ state: 'stalled' })).toEqual([id]);

      await extended.components.leaseOperations.complete(f.ns, [{ id, lease: 1 }]);
      expect(await list({ state: 'stalled' })).toEqual([]);
    });

    it('has no job of another namespace', async () => {
      const other = await EngineFixture.withClock();
      const others = new ExtendedFixture(other);
      await others.put('q');
      await others.lease('q', 1, 'one', 1_000);
      await other.pass(1_001);
      await extended.put('q');
      await extended.lease('q', 1, 'one', 60_000);
      f.nowMs = other.nowMs;

      expect(await list({ state: 'stalled' })).toEqual([]);
      expect(await list({ state: 'stalled', worker: 'one' })).toEqual([]);
      await other.close();
    });

    it('is no list of other states, too', async () => {
      await expect(list({ state: ['ready', 'stalled'] })).rejects.toMatchObject({
        code: 'invalid_argument',
        field: 'state',
      });
    });

    it('reads none of 300 leased jobs of the worker', async () => {
      const calls: string[] = [];
      const observer = { ...silentObserver, script: (name: string) => void calls.push(name) };
      const own = await EngineFixture.withClock({ observer });
      const many = new ExtendedFixture(own);
      await inOrder(300, () => many.put('q'));
      for (let i = 0; i < 3; i++) await many.lease('q', 100, 'two', 60_000);
      await many.put('r');
      await many.lease('r', 1, 'two', 1_000);
      await own.pass(1_001);
      calls.length = 0;

      const page = await many.components.lists.list(own.ns, { state: 'stalled' }, { limit: 10 });
      expect(page).toMatchObject({ items: [{ queue: 'r' }], cursor: null });
      expect(calls.filter((name) => name === 'queries_list_jobs')).toHaveLength(1);
      await own.close();
    });
  });

  describe('the records of workers', () => {
    it('drop a job that is cancelled when its lease expires', async () => {
      const id = await f.put('q', { retentionMs: 60_000 });
      await f.lease('q', { worker: 'one', ttrMs: 1_000 });
      await extended.components.jobCanceller.cancel(f.ns, id, { graceMs: 60_000 });
      await f.pass(1_001);

      expect(await f.find(id)).toMatchObject({ state: 'cancelled' });
      expect(await extended.components.workers.find(f.ns, 'one')).toMatchObject({ leased: 0, stalled: 0 });
      expect(await list({ worker: 'one' })).toEqual([]);
    });

    it('show leased and stalled jobs of a worker', async () => {
      await inOrder(3, () => extended.put('q'));
      const [first] = await extended.lease('q', 2, 'one', 1_000);
      await extended.lease('q', 1, 'two', 60_000);
      f.nowMs += 1_001;
      await f.engine.pumpNow(f.ns);
      const { workers, leaseOperations } = extended.components;

      expect(
        (await workers.list(f.ns, { limit: 10 })).items
          .map(({ name, leased, stalled }) => [name, leased, stalled])
          .sort(),
      ).toEqual([
        ['one', 0, 2],
        ['two', 1, 0],
      ]);
      expect(await list({ worker: 'one' })).toHaveLength(2);
      await leaseOperations.heartbeat(f.ns, { id: first?.id ?? '', lease: 1 });
      expect(await workers.find(f.ns, 'one')).toEqual({
        name: 'one',
        seenAtMs: f.nowMs,
        leased: 1,
        stalled: 1,
        session: null,
      });
      await extended.lease('q', 1, 'two');
      expect(await workers.find(f.ns, 'one')).toMatchObject({ leased: 1, stalled: 0 });
      await leaseOperations.complete(f.ns, [{ id: first?.id ?? '', lease: 1 }]);
      expect(await workers.find(f.ns, 'one')).toMatchObject({ leased: 0, stalled: 0 });
      expect(await workers.find(f.ns, 'two')).toMatchObject({ leased: 2 });
    });

    it('are removed on request or after a day', async () => {
      await extended.put('q');
      const [job] = await extended.lease('q', 1, 'one');
      const { workers, leaseOperations } = extended.components;

      expect(await workers.deregister(f.ns, 'one')).toBe(true);
      expect(await workers.deregister(f.ns, 'one')).toBe(false);
      expect(await workers.find(f.ns, 'one')).toBeNull();
      await leaseOperations.heartbeat(f.ns, { id: job?.id ?? '', lease: 1 }, { ttrMs: 1_000 });
      expect(await workers.find(f.ns, 'one')).toMatchObject({ leased: 1 });
      f.nowMs += 86_400_000;
      await extended.lease('q', 1, 'other');
      await f.engine.pumpNow(f.ns);
      expect((await workers.list(f.ns, { limit: 10 })).items.map(({ name }) => name)).toEqual(['other']);
    });

    it('are not written in a full Redis, where lease requests are served', async () => {
      const redis = await startRedis();
      const own = await EngineFixture.open({}, { url: redis.url });
      const admin = new Redis(redis.port, '127.0.0.1');
      try {
        await own.publish('q');
        await own.lease('q', { worker: 'one' });
        await admin.config('SET', 'maxmemory', '1');

        expect(await own.lease('q', { worker: 'two' })).toEqual([]);
        const { items } = await own.engine.sessions.list(own.ns, { limit: 10 });
        expect(items.map(({ name }) => name)).toEqual(['one']);
      } finally {
        admin.disconnect();
        await own.close();
        await redis.stop();
      }
    });
  });
});

describe('dead jobs', () => {
  let f: EngineFixture;
  let extended: ExtendedFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    extended = new ExtendedFixture(f);
  });
  afterEach(() => f.close());

  const RESET = { ttlMs: 0, tries: 'reset' } as const;

  /** A job that fails at once. */
  async function dead(
    queue: string,
    group: string,
    job: Parameters<ExtendedFixture['put']>[1] = {},
    message = 'boom',
  ) {
    const id = await extended.put(queue, job);
    expect(await extended.fail(queue, group, message)).toBe(1);
    f.nowMs += 1;
    return id;
  }

  async function idsOf(
    filter: Parameters<ExtendedFixture['components']['lists']['listDead']>[1],
    limit = 100,
  ) {
    const { items, cursor } = await extended.components.lists.listDead(f.ns, filter, { limit });
    return { ids: items.map(({ id }) => id), cursor };
  }

  it('lists jobs of other states by the group of their last failure', async () => {
    await dead('q', 'smtp');
    await extended.put('q', { tries: 3, retry: { kind: 'fixed', delayMs: 600_000 } });
    const [job] = await extended.lease('q', 1);
    const failure = { group: 'smtp', message: 'refused' };
    await extended.components.leaseOperations.retry(f.ns, { id: job!.id, lease: job!.lease, ...failure });
    await extended.put('q', { delayMs: 600_000 });
    const list = async (filter: JobFilter): Promise<string[]> => {
      const { items } = await extended.components.lists.list(f.ns, filter, { limit: 10 });
      return items.map(({ state }) => state);
    };
    expect(await list({ group: 'smtp' })).toEqual(['dead']);
    expect(await list({ group: 'smtp', state: 'dead' })).toEqual(['dead']);
    expect(await list({ group: 'smtp', state: 'scheduled' })).toEqual(['scheduled']);
    expect(await list({ group: 'smtp', state: ['scheduled', 'dead'] })).toEqual(['scheduled', 'dead']);
  });

  it('are listed by time, group, type, tag, attribute and message text', async () => {
    const start = f.nowMs;
    const one = await dead('q', 'smtp', { tags: ['vip'], type: 'mail' }, 'Connection REFUSED by peer');
    const two = await dead('p', 'smtp', { attributes: { to: 'x' } }, 'timeout');
    const three = await dead('q', 'db', { type: 'mail' });
    const list = async (filter: Parameters<typeof idsOf>[0]) => (await idsOf(filter)).ids;

    expect(await list({})).toEqual([two, one, three]);
    expect(await list({ queue: 'q' })).toEqual([one, three]);
    expect(await list({ group: 'smtp' })).toEqual([one, two]);
    expect(await list({ group: 'smtp', queue: 'p' })).toEqual([two]);
    expect(await list({ type: 'mail' })).toEqual([one, three]);
    expect(await list({ tag: 'vip' })).toEqual([one]);
    expect(await list({ attributes: { to: 'x' } })).toEqual([two]);
    expect(await list({ attributes: { to: 'y' } })).toEqual([]);
    expect(await list({ text: 'refused' })).toEqual([one]);
    expect(await list({ text: '.*' })).toEqual([]);
    expect(await list({ fromMs: start + 1 })).toEqual([two, three]);
    expect(await list({ toMs: start + 1, group: 'smtp' })).toEqual([one, two]);
    expect(await list({ fromMs: start + 1, toMs: start + 1 })).toEqual([two]);
    const { items } = await extended.components.lists.listDead(f.ns, { tag: 'vip' }, { limit: 1 });
    expect(items[0]).toMatchObject({
      state: 'dead',
      endedAtMs: start,
      failure: { group: 'smtp', message: 'Connection REFUSED by peer', atMs: start },
    });
  });

  it('are searched for long messages in bounded steps', async () => {
    let pages = 0;
    const script = (name: string): void => void (pages += name === 'queries_list_jobs' ? 1 : 0);
    await f.close();
    f = await EngineFixture.withClock({ observer: { ...silentObserver, script } });
    extended = new ExtendedFixture(f);
    const long = 'é'.repeat(8_000);
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) ids.push(await dead('q', 'g', {}, `${long} ÄRGER ${String(i)}`));

    expect((await idsOf({ text: 'Ärger' })).ids).toEqual(ids);
    expect(pages).toBe(3);
    expect((await idsOf({ queue: 'q' })).ids).toEqual(ids);
    expect(await extended.components.deadJobs.count(f.ns, { text: 'ärger 3' })).toMatchObject({ done: 0 });
    expect(await extended.components.deadJobs.count(f.ns, { text: 'Ärger 3' })).toEqual({
      done: 11,
      cursor: null,
    });
  });

  it('are counted by group; a respawned job is not counted, and has no failure (Q4)', async () => {
    const ids = [await dead('q', 'a'), await dead('q', 'a'), await dead('q', 'b')];
    expect(await extended.groups()).toEqual({ a: 2, b: 1 });

    expect(await extended.components.deadJobs.respawn(f.ns, { group: 'a' }, RESET)).toEqual({
      done: 2,
      cursor: null,
    });

    expect(await extended.groups()).toEqual({ b: 1 });
    const job = await extended.components.jobReader.find(f.ns, ids[0] ?? '');
    expect(job).toMatchObject({
      state: 'ready',
      failure: null,
      triesLeft: 5,
      attempts: 0,
      failures: 0,
      endedAtMs: null,
    });
    expect(job?.timeline.map(({ what }) => what)).toEqual([
      'published',
      'leased',
      'failed',
      'died',
      'respawned',
    ]);
    expect((await idsOf({})).ids).toEqual([ids[2]]);
    await extended.fail('q', 'c');
    expect(await extended.groups()).toEqual({ b: 1, c: 1 });
  });

  it('show by group when the first and the last died, the last one, and how many in each hour', async () => {
    const HOUR_MS = 3_600_000;
    const groups = async () => (await extended.components.tags.groups(f.ns, { limit: 100 })).items;
    const startMs = f.nowMs + HOUR_MS - (f.nowMs % HOUR_MS);
    const deadAt = (atMs: number, ...of: Parameters<typeof dead>): Promise<string> => {
      f.nowMs = atMs;
      return dead(...of);
    };
    await deadAt(startMs, 'q', 'smtp', {}, 'first');
    await deadAt(startMs, 'p', 'address');
    await deadAt(startMs + 2 * HOUR_MS - 1, 'q', 'smtp', {}, 'second');
    const last = await deadAt(startMs + 2 * HOUR_MS, 'p', 'smtp', {}, `${'€'.repeat(499)}😀😀`);

    const hours = (counts: Readonly<Record<number, number>>): number[] =>
      Array.from({ length: 24 }, (_, i) => counts[i - 23] ?? 0);
    expect(await groups()).toEqual([
      {
        ...{ name: 'smtp', jobs: 3, firstAtMs: startMs, lastAtMs: startMs + 2 * HOUR_MS },
        sample: { id: last, queue: 'p', message: `${'€'.repeat(499)}😀` },
        trend: hours({ [-2]: 1, [-1]: 1, 0: 1 }),
      },
      {
        ...{ name: 'address', jobs: 1, firstAtMs: startMs, lastAtMs: startMs },
        ...{ sample: expect.objectContaining({ queue: 'p' }) as object, trend: hours({ [-2]: 1 }) },
      },
    ]);
    f.nowMs = startMs + 25 * HOUR_MS;
    expect((await groups()).map(({ jobs, trend }) => [jobs, trend])).toEqual([
      [3, hours({ [-23]: 1 })],
      [1, hours({})],
    ]);
    await extended.components.deadJobs.respawn(f.ns, { queue: 'p' }, RESET);
    expect(await groups()).toMatchObject([{ name: 'smtp', jobs: 2, lastAtMs: startMs + 2 * HOUR_MS - 1 }]);
  });

  it('are described by group in bounded steps', async () => {
    const steps: string[] = [];
    await f.close();
    f = await EngineFixture.withClock({
      observer: { ...silentObserver, script: (name) => void steps.push(name) },
    });
    extended = new ExtendedFixture(f);
    for (let i = 0; i < 60; i++) await dead('q', `g${String(i)}`);
    const { items, cursor } = await extended.components.tags.groups(f.ns, { limit: 55 });
    expect([items.length, cursor]).toEqual([55, '55']);
    expect(steps.filter((name) => name === 'queries_failure_groups')).toHaveLength(3);
  });

  it('do not include a job that failed and is tried again', async () => {
    await extended.put('q', { tries: 3 });
    const [job] = await extended.lease('q', 1);
    const failed = { id: job?.id ?? '', lease: job?.lease ?? 0, group: 'smtp', message: 'refused' };
    await extended.components.leaseOperations.retry(f.ns, failed);

    expect(await extended.components.jobReader.find(f.ns, failed.id)).toMatchObject({
      failure: { group: 'smtp' },
    });
    expect(await extended.groups()).toEqual({});
  });

  it('have a group for expired leases', async () => {
    const id = await extended.put('q', { tries: 1 });
    await extended.lease('q', 1, 'w');
    f.nowMs += 10_001;
    await f.engine.pumpNow(f.ns);

    expect(await extended.groups()).toEqual({ lease_expired: 1 });
    expect(await extended.components.jobReader.find(f.ns, id)).toMatchObject({
      failure: { group: 'lease_expired', worker: 'w' },
    });
  });

  it('are counted by a filter without a change', async () => {
    for (let i = 0; i < 5; i++) await dead('q', i < 3 ? 'a' : 'b');
    const before = await f.keys();

    expect(await extended.components.deadJobs.count(f.ns, { group: 'a' })).toEqual({ done: 3, cursor: null });
    expect(await extended.components.deadJobs.count(f.ns, {})).toEqual({ done: 5, cursor: null });
    expect(await f.keys()).toEqual(before);
    expect(await extended.groups()).toEqual({ a: 3, b: 2 });
  });

  it('are respawned with their remaining tries, a number, or all', async () => {
    const keep = await dead('q', 'keep', { tries: 5 });
    const number = await dead('q', 'number', { tries: 5 });
    const used = await dead('q', 'used', { tries: 1 });
    const { deadJobs: letter, jobReader } = extended.components;
    await letter.respawn(f.ns, { group: 'keep' }, { ttlMs: 0, tries: 'keep' });
    await letter.respawn(f.ns, { group: 'number' }, { ttlMs: 1_000, tries: 2 });
    await letter.respawn(f.ns, { group: 'used' }, { ttlMs: 0, tries: 'keep' });

    expect(await jobReader.find(f.ns, keep)).toMatchObject({ triesLeft: 4, failures: 1 });
    expect(await jobReader.find(f.ns, number)).toMatchObject({ triesLeft: 2, expiresAtMs: f.nowMs + 1_000 });
    expect(await jobReader.find(f.ns, used)).toMatchObject({ triesLeft: 1 });
    f.nowMs += 1_001;
    await f.engine.pumpNow(f.ns);
    expect(await jobReader.find(f.ns, number)).toBeNull();
  });

  it('are moved to another queue, also a new one, simple and extended', async () => {
    const extendedId = await dead('q', 'g', { priority: 3 });
    const simple = await f.publish('q', { tries: 1 });
    await f.lease('q', { ttrMs: 1_000 });
    f.nowMs += 1_001;
    await f.engine.pumpNow(f.ns);
    f.nowMs += 1;

    expect(
      await extended.components.deadJobs.respawn(f.ns, { queue: 'q' }, { ...RESET, queue: 'fresh' }),
    ).toEqual({
      done: 2,
      cursor: null,
    });
    expect((await f.lease('fresh', { count: 2 })).map(({ id, queue }) => [id, queue])).toEqual([
      [simple, 'fresh'],
      [extendedId, 'fresh'],
    ]);
    expect((await f.engine.queues.counts(f.ns, ['q']))[0]).toMatchObject({ dead: 0, ready: 0 });
  });

  it('are respawned and deleted by id only if they are dead', async () => {
    const ids = [await dead('q', 'g'), await dead('q', 'g'), await extended.put('q')];
    const all = [...ids, 'missing', ids[0] ?? ''];

    expect(await extended.components.deadJobs.respawnIds(f.ns, all.slice(1), RESET)).toBe(2);
    expect(await extended.components.deadJobs.deleteIds(f.ns, all)).toBe(0);
    expect(await extended.fail('q', 'g', 'm', 3)).toBe(3);
    expect(await extended.components.deadJobs.deleteIds(f.ns, [ids[1] ?? ''])).toBe(1);
    expect(await extended.groups()).toEqual({ g: 2 });
    expect(await extended.components.jobReader.find(f.ns, ids[1] ?? '')).toBeNull();
  });

  it('are respawned by a continued call without the jobs that died after its start', async () => {
    for (let i = 0; i < 7; i++) await dead(i < 4 ? 'p' : 'q', 'g');
    const first = await extended.components.deadJobs.respawn(f.ns, {}, RESET, 3);
    expect(first.done).toBe(3);
    // Those that came back die again: this operation is not to meet them.
    f.nowMs += 1;
    expect(await extended.fail('p', 'again', 'm', 3)).toBe(3);

    const rest = await extended.components.deadJobs.respawn(f.ns, {}, RESET, Infinity, first.cursor ?? '');

    expect(rest).toEqual({ done: 4, cursor: null });
    expect(await extended.groups()).toEqual({ again: 3 });
  });

  it('are shown to lmstfy calls, which respawn and delete them', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await dead('q', 'g', { tries: 4, tags: ['t'] }));
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toEqual({ id: ids[0], size: 5 });

    expect(await f.engine.deadLetter.respawn(f.ns, 'q', 2, 60_000)).toBe(2);
    expect(await extended.components.jobReader.find(f.ns, ids[0] ?? '')).toMatchObject({
      state: 'ready',
      triesLeft: 1,
      failure: null,
      expiresAtMs: f.nowMs + 60_000,
    });
    expect(await f.engine.deadLetter.delete(f.ns, 'q', 100)).toBe(3);
    expect(await extended.groups()).toEqual({});
    expect(await extended.tags()).toEqual({ t: 2 });
    expect((await f.lease('q', { count: 5 })).map(({ id }) => id)).toEqual(ids.slice(0, 2));
  });

  it.each([
    ['without its group', { group: 'g' }, {}],
    ['with a group', {}, { group: 'g' }],
  ])('refuse the cursor of another filter: %s', async (_what, first, second) => {
    for (let i = 0; i < 3; i++) await dead('q', 'g');
    const { deadJobs } = extended.components;
    const { cursor } = await deadJobs.delete(f.ns, first, 1);
    await expect(deadJobs.delete(f.ns, second, 1, cursor!)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(await deadJobs.delete(f.ns, first, 9, cursor!)).toMatchObject({ done: 2 });
  });

  it('release their dependents when they are respawned and done, and when they are deleted', async () => {
    const parents = [await dead('q', 'back'), await dead('q', 'drop')];
    const waits = (parent: string | undefined, onDependencyFailure: 'block' | 'cancel') =>
      extended.put('child', { dependsOn: [parent ?? ''], onDependencyFailure });
    const [first, second] = [await waits(parents[0], 'block'), await waits(parents[1], 'cancel')];
    const stateOf = async (id: string) => (await extended.components.jobReader.find(f.ns, id))?.state ?? null;
    await extended.components.deadJobs.respawn(f.ns, { group: 'back' }, RESET);
    const [job] = await extended.lease('q');
    await extended.components.leaseOperations.complete(f.ns, [{ id: job?.id ?? '', lease: job?.lease ?? 0 }]);
    await f.engine.pumpNow(f.ns);
    expect(await stateOf(first)).toBe('ready');

    expect(await extended.components.deadJobs.delete(f.ns, { group: 'drop' })).toMatchObject({ done: 1 });
    await f.engine.pumpNow(f.ns);

    expect(await stateOf(second)).toBeNull();
    expect(await extended.groups()).toEqual({});
  });

  it('are counted by a dry run as a respawn would put them back, and nothing changes', async () => {
    const unique = { key: 'k', mode: 'reject' } as const;
    const ids = [
      await dead('q', 'g', { unique }),
      await dead('q', 'g', { unique }),
      await dead('q', 'g', { unique: { key: 'held', mode: 'reject' } }),
      await dead('q', 'g'),
      await dead('p', 'g'),
    ];
    await extended.put('q', { unique: { key: 'held', mode: 'reject' } });
    const { deadJobs } = extended.components;
    const before = await f.stored();
    for (const queue of [undefined, 'fresh']) {
      const how = { ...RESET, ...(queue === undefined ? {} : { queue }) };
      const dry = (selection: object) => deadJobs.respawnSelected(f.ns, { ...selection, dryRun: true }, how);
      expect(await dry({ filter: {} })).toMatchObject({ done: 3 });
      expect(await dry({ filter: { queue: 'q' } })).toMatchObject({ done: 2 });
      expect(await dry({ filter: {}, limit: 2 })).toMatchObject({ done: 2 });
      expect(await dry({ ids })).toMatchObject({ done: 3 });
    }
    expect(await deadJobs.deleteSelected(f.ns, { filter: {}, limit: 4, dryRun: true })).toMatchObject({
      done: 4,
    });
    expect(await f.stored()).toEqual(before);
    expect(await deadJobs.respawnSelected(f.ns, { ids }, RESET)).toMatchObject({ done: 3 });
  });

  it('refuse a lease from before their death', async () => {
    const id = await extended.put('q', { tries: 1 });
    const [job] = await extended.lease('q', 1, 'w');
    f.nowMs += 10_001;
    await f.engine.pumpNow(f.ns);
    await extended.components.deadJobs.respawnIds(f.ns, [id], { ttlMs: 0, tries: 'keep' });

    await expect(
      extended.components.leaseOperations.heartbeat(f.ns, { id, lease: job?.lease ?? 0 }),
    ).rejects.toMatchObject({
      code: 'lease_lost',
    });
  });

  it('refuse an invalid way to respawn', async () => {
    const { deadJobs: letter } = extended.components;
    for (const options of [
      { ttlMs: -1, tries: 'reset' },
      { ttlMs: 0, tries: 0 },
      { ttlMs: 0, tries: 1, queue: 'a b' },
    ] as const) {
      await expect(letter.respawn(f.ns, {}, options)).rejects.toMatchObject({ code: 'invalid_argument' });
    }
  });
});
