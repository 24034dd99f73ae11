import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { Ack, LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { type EngineObserver, silentObserver } from '../../src/engine/core/observer.js';
import type { LeaseOperation, Settled } from '../../src/engine/settle/settler.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

describe('batches', () => {
  describe('calls in one turn of the event loop', () => {
    let f: EngineFixture;
    let redis: Redis;
    const batches: [string, number][] = [];
    beforeEach(async () => {
      batches.length = 0;
      redis = new Redis(testRedisUrl(), { protocol: 2 });
      const script = (name: string, items: number): void => void batches.push([name, items]);
      f = await EngineFixture.withClock({ observer: { ...silentObserver, script } });
    });
    afterEach(async () => {
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      redis.disconnect();
      await f.close();
    });

    const take = (...queues: string[]): Promise<LeasedJob[]> => f.lease('', { queues });
    const bodies = (leased: LeasedJob[][]): (string | undefined)[] =>
      leased.map(([job]) => job?.body.toString());

    it('share one script if they lease from the same queue, and get its jobs in order', async () => {
      for (const text of ['a', 'b', 'c']) await f.publish('q', { text });
      batches.length = 0;
      const got = await Promise.all(Array.from({ length: 50 }, () => take('q')));

      expect(batches).toEqual([['simple_lease', 1]]);
      expect(bodies(got)).toEqual(['a', 'b', 'c', ...new Array<undefined>(47).fill(undefined)]);
    });

    it('get jobs in the order of the calls if their queues overlap', async () => {
      for (const text of ['first', 'second']) await f.publish('b', { text });
      const got = await Promise.all([take('a', 'b'), take('b'), take('a', 'b')]);

      expect(bodies(got)).toEqual(['first', 'second', undefined]);
    });

    it('use a second script if one answer cannot hold all the jobs that they lease', async () => {
      // An answer takes no more jobs at 4 MiB: 21 of these.
      const job = newJob({ body: Buffer.alloc(200_000, 'x') });
      const ids = await Promise.all(Array.from({ length: 40 }, () => f.engine.publish(f.ns, 'q', job)));
      batches.length = 0;
      const got = (await Promise.all(ids.map(() => take('q')))).map(([one]) => one?.id);

      expect(batches).toEqual([
        ['simple_lease', 1],
        ['simple_lease', 1],
      ]);
      expect(new Set(got)).toEqual(new Set(ids));
    });

    it('get the jobs behind 2,500 stale entries', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 2_500; i += 50)
        ids.push(
          ...(await f.engine.publishMany(
            f.ns,
            'q',
            Array.from({ length: 50 }, () => newJob()),
          )),
        );
      for (const text of ['x', 'y']) await f.publish('q', { text });
      for (let i = 0; i < ids.length; i += 500) {
        const acks = ids.slice(i, i + 500).map((id) => ({ queue: 'q', id }));
        await f.engine.ackMany(f.ns, acks);
      }

      expect(bodies(await Promise.all([take('q'), take('q'), take('q')]))).toEqual(['x', 'y', undefined]);
      expect(await f.size('q')).toBe(0);
    });

    it('store one job if two publish the same id, and remove the expired job of the id once', async () => {
      await f.publish('q', { id: 'mine', delayMs: 60_000, ttlMs: 1_000 });
      await f.publish('q', { delayMs: 3_600_000 });
      f.nowMs += 1_000;
      const twice = await Promise.allSettled([
        f.publish('q', { id: 'mine', text: 'one' }),
        f.publish('q', { id: 'mine', text: 'other' }),
      ]);

      expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, scheduled: 1 }]);
      expect(await f.drain('q')).toEqual(['one']);
    });
  });

  describe('an observer that throws', () => {
    const unhandled: unknown[] = [];
    const add = (error: unknown): void => void unhandled.push(error);
    beforeEach(() => {
      unhandled.length = 0;
      process.on('unhandledRejection', add);
    });
    afterEach(() => void process.off('unhandledRejection', add));

    const CALLS: readonly [keyof EngineObserver, (f: EngineFixture, id: string) => Promise<unknown>][] = [
      ['published', (f) => f.publish('q')],
      ['leased', (f) => f.lease('q')],
      ['acked', (f, id) => f.engine.ack(f.ns, 'q', id)],
    ];

    it.each(CALLS)('fails only the call that it observed: %s', async (method, call) => {
      let reported = 0;
      const throwing = (): void => {
        if (reported++ === 0) throw new Error('of the observer');
      };
      const f = await EngineFixture.open({ observer: { ...silentObserver, [method]: throwing } });
      const quiet = new PoolEngine(f.pool, {});
      const ids = await quiet.publishMany(
        f.ns,
        'q',
        Array.from({ length: 3 }, () => newJob()),
      );
      if (method === 'acked') await quiet.lease(f.ns, { queues: ['q'], count: 3, ttrMs: 60_000, waitMs: 0 });
      const ends = await Promise.race([
        Promise.allSettled(ids.map((id) => call(f, id))),
        sleep(2_000, 'some never end', { ref: false }),
      ]);
      const stopped = await Promise.race([
        f.engine.stop().then(() => 'stopped'),
        sleep(2_000, 'does not stop', { ref: false }),
      ]);
      await quiet.stop();
      await f.pool.close();

      expect(ends).toMatchObject([
        { status: 'rejected', reason: { message: 'of the observer' } },
        { status: 'fulfilled' },
        { status: 'fulfilled' },
      ]);
      expect(stopped).toBe('stopped');
      expect(unhandled).toEqual([]);
    });
  });
});

describe('batch ack', () => {
  describe('many acknowledgements in one call', () => {
    let f: EngineFixture;
    let redis: Redis;
    const scripts: string[] = [];
    const stale: string[] = [];
    const acked: string[] = [];
    beforeEach(async () => {
      scripts.length = stale.length = acked.length = 0;
      redis = new Redis(testRedisUrl(), { protocol: 2 });
      const observer = {
        ...silentObserver,
        script: (name: string): void => void scripts.push(name),
        staleAck: (_namespace: string, kind: string): void => void stale.push(kind),
        acked: (_namespace: string, queue: string): void => void acked.push(queue),
      };
      f = await EngineFixture.withClock({ observer });
    });
    afterEach(async () => {
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      redis.disconnect();
      await f.close();
    });

    async function lease(queue: string, count: number): Promise<LeasedJob[]> {
      for (let left = count; left > 0; left -= 50) {
        const jobs = Array.from({ length: Math.min(left, 50) }, () => newJob({ tries: 9 }));
        await f.engine.publishMany(f.ns, queue, jobs);
      }
      const leased: LeasedJob[] = [];
      while (leased.length < count) leased.push(...(await f.lease(queue, { count: 100 })));
      return leased;
    }

    const ackOf = ({ queue, id, lease: number }: LeasedJob): Ack => ({ queue, id, lease: number });

    it('run in eight scripts if they are a thousand, and leave no key of the jobs', async () => {
      const leased = await lease('q', 1_000);
      scripts.length = 0;
      const results = await f.engine.ackMany(f.ns, leased.map(ackOf));

      expect(results).toEqual(leased.map(() => 'acked'));
      expect(scripts).toEqual(new Array<string>(8).fill('simple_ack'));
      await f.engine.tidyNow(f.ns);
      expect(await f.keys()).toEqual([]);
    });

    it('run in one script if this server has leased the jobs from an extended queue', async () => {
      for (let i = 0; i < 4; i++) await f.put('typed', { type: 'mail' });
      const [first, ...others] = await f.lease('typed', { count: 4 });
      scripts.length = 0;
      expect(await f.engine.ack(f.ns, 'typed', first!.id, first!.lease)).toBe(true);
      expect(await f.engine.ackMany(f.ns, others.map(ackOf))).toEqual(['acked', 'acked', 'acked']);
      expect(scripts).toEqual(['extended_settle', 'extended_settle']);
    });

    it('run in one script if this server has leased the jobs by type only', async () => {
      const other = new PoolEngine(f.pool);
      try {
        const job = { queue: 'typed', body: Buffer.from('x') };
        await other.jobs.publish(f.ns, [
          { ...job, type: 'mail' },
          { ...job, tags: ['a'] },
        ]);
      } finally {
        await other.stop();
      }
      const [first] = await f.lease('typed', { types: ['mail'] });
      const [second] = await f.lease('typed', { types: [null] });
      scripts.length = 0;
      expect(await f.engine.ack(f.ns, 'typed', first!.id, first!.lease)).toBe(true);
      expect(await f.engine.ackMany(f.ns, [ackOf(second!)])).toEqual(['acked']);
      expect(scripts).toEqual(['extended_settle', 'extended_settle']);
    });

    it('register no namespace that was purged meanwhile', async () => {
      await f.put('typed', { type: 'mail' });
      await f.put('typed', { type: 'mail' });
      const [first, second] = await f.lease('typed', { count: 2 });
      await f.engine.purge.run(f.ns);
      expect(await f.engine.ack(f.ns, 'typed', first!.id, first!.lease)).toBe(false);
      expect(await f.engine.ackMany(f.ns, [ackOf(second!)])).toEqual(['not_found']);
      expect(await redis.exists(`{${f.ns}}:meta`)).toBe(0);
    });

    it('find a job that was leased from an extended queue, and is in a simple one since', async () => {
      const id = await f.put('typed', { type: 'mail', id: 'order-1' });
      const [job] = await f.lease('typed');
      await f.engine.components.jobCanceller.remove(f.ns, id, { force: true });
      expect(await f.engine.ackMany(f.ns, [ackOf(job!)])).toEqual(['not_found']);
      await f.engine.jobs.publish(f.ns, [{ queue: 'simple', id, body: Buffer.from('x') }]);
      expect(await f.engine.ack(f.ns, 'simple', id)).toBe(true);
      expect(await f.engine.queues.counts(f.ns, ['simple'])).toMatchObject([{ ready: 0, leased: 0 }]);
    });

    it('are all refused if they are more than a thousand', async () => {
      const leased = await lease('q', 1);
      const acks = new Array<Ack>(1_001).fill(ackOf(leased[0]!));

      await expect(f.engine.ackMany(f.ns, acks)).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ leased: 1 }]);
    });

    it.each([
      ['a lease below 0', { lease: -1 }],
      ['a lease of more than 32 bits', { lease: 2 ** 32 }],
      ['a lease that is no whole number', { lease: 1.5 }],
      ['a queue that would be two', { queue: 'a,b' }],
    ])('are all refused for %s, and change no job', async (_name, wrong) => {
      const [one, other] = await lease('q', 2);
      const acks = [ackOf(one!), { ...ackOf(other!), ...wrong }];

      await expect(f.engine.ackMany(f.ns, acks)).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ leased: 2 }]);
    });

    it('have a result each, in order, and change no job if they fail', async () => {
      const [one, lost, any, wrongQueue] = await lease('q', 4);
      const [other] = await lease('p', 1);
      const ready = await f.publish('p');
      const scheduled = await f.publish('p', { delayMs: 1_000 });
      const far = await f.publish('p', { delayMs: 3_600_000 });
      const acks: Ack[] = [
        ackOf(one!),
        { ...ackOf(lost!), lease: lost!.lease + 1 },
        { queue: 'q', id: any!.id },
        { ...ackOf(wrongQueue!), queue: 'p' },
        ackOf(other!),
        { queue: 'p', id: ready },
        { queue: 'p', id: ready },
        { queue: 'p', id: scheduled },
        { queue: 'p', id: far },
        { queue: 'p', id: 'never-was' },
        { queue: 'none', id: one!.id },
        { queue: 'p', id: 'not an id' },
        { queue: 'p', id: '' },
      ];

      expect(await f.engine.ackMany(f.ns, acks)).toEqual([
        'acked',
        'lease_lost',
        'acked',
        'not_found',
        'acked',
        'acked',
        'not_found',
        'acked',
        'acked',
        'not_found',
        'not_found',
        'not_found',
        'not_found',
      ]);
      expect(stale).toEqual(['refused']);
      expect(await f.engine.queues.counts(f.ns, ['q', 'p'])).toMatchObject([
        { ready: 0, leased: 2 },
        { ready: 0, leased: 0, scheduled: 0 },
      ]);
      // Who holds them may still say that they are done.
      expect(await f.engine.ackMany(f.ns, [ackOf(lost!), ackOf(wrongQueue!)])).toEqual(['acked', 'acked']);
    });

    it('find simple and extended jobs without a queue name, beside items that name a queue', async () => {
      const [q0, q1, lost] = await lease('q', 3);
      const [p0] = await lease('p', 1);
      await f.put('e', { type: 't' });
      const [extended, simple] = [await f.lease('e'), await f.publish('e')].flat() as [LeasedJob, string];
      acked.length = 0;
      const any = ({ id, lease: number }: LeasedJob): Ack => ({ id, lease: number });
      const acks = [
        any(q0!),
        ackOf(q1!),
        any(p0!),
        { id: 'never-was' },
        any(extended),
        { id: simple },
        { id: simple },
      ];

      expect(await f.engine.ackMany(f.ns, [...acks, { id: lost!.id, lease: lost!.lease + 1 }])).toEqual([
        ...['acked', 'acked', 'acked', 'not_found', 'acked', 'acked', 'not_found', 'lease_lost'],
      ]);
      expect(acked.toSorted()).toEqual(['e', 'p', 'q', 'q']);
      expect(await f.engine.queues.counts(f.ns, ['q', 'p', 'e'])).toMatchObject([
        { leased: 1 },
        { leased: 0 },
        { ready: 0 },
      ]);
    });

    it('look for each job in its own queue if two queues alternate', async () => {
      const [q0, q1] = await lease('q', 2);
      const [p0, p1] = await lease('p', 2);

      const acks = [q0, p0, q1, p1].map((job) => ackOf(job!));
      expect(await f.engine.ackMany(f.ns, acks)).toEqual(['acked', 'acked', 'acked', 'acked']);
    });

    it('refuse a stale lease among others if another worker has the job', async () => {
      const leased = await lease('q', 3);
      f.nowMs += 60_000;
      await f.engine.pumpNow(f.ns);
      const again = await f.lease('q', { count: 2 });
      const results = await f.engine.ackMany(f.ns, [...leased, ...again].map(ackOf));

      // The third waits for its next lease: until then its last lease holder is heard.
      expect(results).toEqual(['lease_lost', 'lease_lost', 'acked', 'acked', 'acked']);
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 0 }]);
    });

    it('acknowledge a job once that is listed twice', async () => {
      const [job] = await lease('q', 1);

      expect(await f.engine.ackMany(f.ns, [ackOf(job!), ackOf(job!)])).toEqual(['acked', 'not_found']);
      expect(await f.engine.ackMany(f.ns, [])).toEqual([]);
    });
  });

  /** A worker's heartbeat and its ack may come in one turn of the event loop: then both travel in one script call. */
  describe('two lease operations on one job', () => {
    const OPERATIONS: Readonly<
      Record<string, Pick<LeaseOperation, 'verb' | 'options'> & { anyLease?: true }>
    > = {
      ack: { verb: 'ack' },
      ackAny: { verb: 'ack', anyLease: true },
      ackKept: { verb: 'ack', options: { keep_ms: 60_000 } },
      ackNext: { verb: 'ack', options: { next: { queue: 'next', delay_ms: 0 } } },
      release: { verb: 'release' },
      releaseLater: { verb: 'release', options: { delay_ms: 5_000 } },
      retry: { verb: 'retry' },
      retryLater: { verb: 'retry', options: { delay_ms: 5_000 } },
      fail: { verb: 'fail', options: { group: 'g' } },
      heartbeat: { verb: 'heartbeat', options: { ttr_ms: 20_000 } },
      heartbeatProgress: { verb: 'heartbeat', options: { progress: '"half"' } },
      undo: { verb: 'undo' },
      revoke: { verb: 'revoke', anyLease: true },
    };
    const JOBS: Readonly<Record<string, Partial<NewExtendedJob> | null>> = {
      'a simple one': null,
      'one with a concurrency key': { concurrencyKey: 'k' },
      'one of another priority': { priority: 3, ttlMs: 600_000, tags: ['t'] },
    };
    const names = Object.keys(OPERATIONS);
    const pairs = names.flatMap((first) => names.map((second) => [first, second] as const));
    let redis: Redis;
    beforeAll(() => (redis = new Redis(testRedisUrl(), { protocol: 2 })));
    afterAll(() => redis.disconnect());

    it.each(
      Object.entries(JOBS).flatMap(([name, job]) =>
        ['in time', 'late', 'in its second attempt'].map((when) => [name, when, job] as const),
      ),
    )('have the same outcome in one script as in two: %s, %s', async (_name, when, job) => {
      /** Plays each pair on a queue of its own, so that one pair's faults do not hide another's. */
      const play = async (areTogether: boolean): Promise<unknown[]> => {
        const f = await EngineFixture.withClock();
        const leased: { id: string; lease: number }[] = [];
        for (const pair of pairs) {
          const queue = pair.join('-');
          if (job === null) await f.engine.publish(f.ns, queue, newJob({ id: queue, tries: 9 }));
          else await f.put(queue, { id: queue, tries: 9, ...job });
          await f.engine.components.queueControls.change(f.ns, queue, { maxRunning: 5, maxRunningPerKey: 1 });
          if (when === 'in its second attempt') {
            const [{ id, lease }] = (await f.lease(queue, { ttrMs: 10_000 })) as [LeasedJob];
            await f.engine.components.settler.settle(f.ns, [{ verb: 'retry', id, lease }]);
          }
          await f.put(queue, { id: `${queue}-held`, ...job });
          leased.push(...(await f.lease(queue, { ttrMs: 10_000 })));
        }
        if (when === 'late') {
          await f.pass(10_001);
          await f.engine.pumpNow(f.ns);
        }
        const outcomes: unknown[] = [];
        for (const [i, pair] of pairs.entries()) {
          const { id = '', lease = 0 } = leased[i] ?? {};
          const operations = pair.map((name): LeaseOperation => {
            const { verb, options = {}, anyLease } = OPERATIONS[name]!;
            return { verb, options, id, lease: anyLease ? 0 : lease };
          });
          const calls = areTogether ? [operations] : operations.map((one) => [one]);
          const settled: Settled[] = [];
          for (const call of calls) settled.push(...(await f.engine.components.settler.settle(f.ns, call)));
          outcomes.push([
            id,
            ...settled.map(({ code, state, atMs }) => ({ code, state, atMs: atMs && atMs - f.nowMs })),
          ]);
        }
        for (const problem of await Audit.of(redis, f.ns)) outcomes.push(problem);
        for (const pair of pairs) {
          const queue = pair.join('-');
          const head = await f.engine.queues.peek(f.ns, queue);
          const [counts] = await f.engine.queues.counts(f.ns, [queue]);
          outcomes.push({ ...counts, oldestReadyAtMs: null }, [queue, head?.id]);
        }
        await f.close();
        return outcomes;
      };

      const apart = await play(false);
      expect(apart.filter((one) => typeof one === 'string')).toEqual([]);
      expect(await play(true)).toEqual(apart);
    });
  });
});
