import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { findDue, WALK_END } from '../../src/redis/due-soon.js';
import { sweep } from '../../src/redis/scripts/simple.js';
import { integerAt } from '../../src/redis/scripts/script.js';
import { type RedisProcess, startRedis, testRedisUrl, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

describe('expiry', () => {
  /** When its ttl is over a job is gone for every call, even before it is removed. */
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
      await f.lease('q', { ttrMs: 36_000_000 });
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
      for (const id of ids)
        expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ id, ttlLeftMs: 1 });
      f.nowMs += 1;

      for (const id of ids) expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toBeNull();
      expect(await f.engine.queues.peek(f.ns, 'q')).toBeNull();
    });

    it('is not leased or returned', async () => {
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

    it('frees its id', async () => {
      await f.publish('q', { id: 'mine', ttlMs: 1_000, text: 'first' });
      await expect(f.publish('q', { id: 'mine' })).rejects.toMatchObject({ code: 'job_exists' });
      f.nowMs += 1_000;
      await f.publish('q', { id: 'mine', text: 'second' });

      expect(await f.drain('q')).toEqual(['second']);
    });

    it('is not counted after one round of pump and janitor, and leaves no key', async () => {
      await oneOfEach(1_000_000);
      f.nowMs += 1_000_000;
      await f.engine.pumpNow(f.ns);
      await f.engine.tidyNow(f.ns);
      await f.engine.tidyNow(f.ns);

      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([
        { ready: 0, scheduled: 0, leased: 0, dead: 0 },
      ]);
      expect(await f.keys()).toEqual([]);
    });

    describe('an expired job in a ready list without consumers', () => {
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

      it('is removed behind one live job', async () => {
        const first = await f.publish('q');
        for (let round = 0; round < 4; round++) {
          await expiring(540);
          f.nowMs += 1_000;
          await f.engine.tidyNow(f.ns);
          expect([await f.size('q'), await entries()]).toEqual([1, 1]);
        }
        await expiring(60, 5_000);
        expect(await f.size('q')).toBe(61);
        expect(await f.lease('q')).toMatchObject([{ id: first }]);
      });

      it('is removed behind 300 live jobs', async () => {
        await expiring(300, 1_000_000);
        await expiring(540);
        f.nowMs += 1_000;
        await f.engine.tidyNow(f.ns);

        expect([await f.size('q'), await entries()]).toEqual([300, 300]);
      });

      it('is removed in front of 6,000 live jobs', async () => {
        await expiring(540);
        await expiring(6_000, 1_000_000);
        f.nowMs += 1_000;
        await f.engine.tidyNow(f.ns);

        expect([await f.size('q'), await entries()]).toEqual([6_000, 6_000]);
      });

      it('is removed between 5 and 6,000 live jobs', async () => {
        for (let i = 0; i < 5; i++) await f.publish('q');
        await expiring(540);
        await expiring(6_000, 1_000_000);
        f.nowMs += 1_000;
        await f.engine.tidyNow(f.ns);

        expect([await f.size('q'), await entries()]).toEqual([6_005, 6_005]);
      });

      it('is a tombstone between 120 and 6,000 live jobs until leases reach it', async () => {
        await expiring(120, 1_000_000);
        await expiring(540);
        await expiring(6_000, 1_000_000);
        f.nowMs += 1_000;
        await f.engine.tidyNow(f.ns);
        expect([await f.size('q'), await entries()]).toEqual([6_120, 6_660]);

        expect(await f.lease('q', { count: 100 })).toHaveLength(100);
        expect(await f.lease('q', { count: 30 })).toHaveLength(30);
        expect([await f.size('q'), await entries()]).toEqual([5_990, 5_990]);
      });

      it('is removed after the passes of two servers met and one of them stopped', async () => {
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

      it('is counted once by two passes at the same time', async () => {
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

      it('is removed like the stale entries of 1,200 acknowledged jobs', async () => {
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
        // The janitor of another spec's server may have swept this namespace meanwhile: a pass removes the first thousand.
        expect([1_201, 201]).toContain(await entries());
        await f.engine.ackMany(
          f.ns,
          ids.slice(1_000).map((id) => ({ queue: 'q', id })),
        );
        await f.engine.tidyNow(f.ns);

        expect([await f.size('q'), await entries()]).toEqual([1, 1]);
        expect(await f.lease('q')).toMatchObject([{ id: stays }]);
      });
    });
  });
});

describe('retention of finished jobs', () => {
  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.withClock()));
  afterEach(() => f.close());

  const extended = () => f.engine.components;
  const find = async (id: string) => (await f.find(id))?.state ?? null;
  const ended = async (queue = 'q'): Promise<number> => {
    const { done = 0, cancelled = 0 } = (await f.counts(queue)) ?? {};
    return done + cancelled;
  };

  /** Publishes jobs and has them done, one after the other, a millisecond apart. @returns their ids */
  async function done(count: number, job: Partial<NewExtendedJob> = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      f.nowMs += 1;
      await extended().extendedPublisher.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), ...job }]);
      const [leased] = await f.lease(job.queue ?? 'q');
      const { id = '', lease = 0 } = leased ?? {};
      await extended().leaseOperations.complete(f.ns, [{ id, lease }]);
      ids.push(id);
    }
    return ids;
  }

  /** Publishes a job and cancels it. @returns its id */
  async function cancelled(): Promise<string[]> {
    f.nowMs += 1;
    const job = { queue: 'q', body: Buffer.from('x'), retentionMs: 60_000 };
    const [{ id } = { id: '' }] = await extended().extendedPublisher.publish(f.ns, [job]);
    await extended().jobCanceller.cancel(f.ns, id);
    return [id];
  }

  /** As the queue's settings have it. */
  async function keepAtMost(jobs: number, queue = 'q'): Promise<void> {
    const number = Math.abs(Number(await f.pool.read('HGET', f.pool.keys.namespace(f.ns).queues, queue)));
    await f.pool.read('HSET', `{${f.ns}}:o${String(number)}`, 'kept', String(jobs));
  }

  it('keeps a done job for its retention, and no longer', async () => {
    const [long = ''] = await done(1, { retentionMs: 60_000 });
    const [short = ''] = await done(1, { retentionMs: 1_000 });
    f.nowMs += 999;
    await f.engine.pumpNow(f.ns);
    expect([await find(long), await find(short)]).toEqual(['done', 'done']);
    f.nowMs += 1;
    await f.engine.pumpNow(f.ns);
    expect([await find(long), await find(short)]).toEqual(['done', null]);
    f.nowMs += 60_000;
    expect(await f.engine.pumpNow(f.ns)).toBe(0);

    expect([await find(long), await ended()]).toEqual([null, 0]);
    expect((await f.keys()).filter((key) => /\}(?:j|x|:z|:keeping|:timers|:ended)/.test(key))).toEqual([]);
  });

  it('is what the lease holder asks for, before what the job has', async () => {
    await extended().extendedPublisher.publish(f.ns, [
      { queue: 'q', body: Buffer.from('x'), retentionMs: 1_000 },
    ]);
    const [job] = await f.lease('q');
    const { id = '', lease = 0 } = job ?? {};
    await extended().leaseOperations.complete(f.ns, [{ id, lease, retentionMs: 5_000 }]);
    f.nowMs += 4_999;
    await f.engine.pumpNow(f.ns);
    expect(await find(id)).toBe('done');
    f.nowMs += 1;
    await f.engine.pumpNow(f.ns);

    expect(await find(id)).toBeNull();
  });

  it('applies to a simple job if the lease holder asks for it', async () => {
    const id = await f.publish('plain');
    const [job] = await f.lease('plain');
    await extended().leaseOperations.complete(f.ns, [{ id, lease: job?.lease ?? 0, retentionMs: 1_000 }]);
    expect(await find(id)).toBe('done');
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);

    expect(await find(id)).toBeNull();
  });

  it('keeps only the newest jobs of a queue, as many as is set', async () => {
    const first = await done(3, { retentionMs: 60_000 });
    await keepAtMost(3);
    const next = await done(2, { retentionMs: 60_000 });
    const elsewhere = await done(5, { retentionMs: 60_000, queue: 'other' });
    await f.engine.pumpNow(f.ns);

    expect(await Promise.all([...first, ...next].map(find))).toEqual([null, null, 'done', 'done', 'done']);
    expect(await Promise.all(elsewhere.map(find))).not.toContain(null);
  });

  it('removes first the jobs that ended first, done and cancelled', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) {
      const [id = ''] = i % 3 === 0 ? await done(1, { retentionMs: 60_000 }) : await cancelled();
      ids.push(id);
    }
    for (let most = 8; most >= 0; most--) {
      await keepAtMost(most);
      const [last = ''] = await cancelled();
      await f.engine.pumpNow(f.ns);

      ids.push(last);
      const states = await Promise.all(ids.map(find));
      expect(states.map((state) => state !== null)).toEqual(ids.map((_id, i) => i >= ids.length - most));
      expect(await f.audit()).toEqual([]);
    }
  });

  it('leaves nothing of a namespace when its jobs were removed early', async () => {
    await done(1, { retentionMs: 60_000 });
    await extended().queuePurger.purge(f.ns, 'q', ['done']);
    const [replaced = ''] = await done(1, { retentionMs: 60_000 });
    const next = await f.engine.republish(f.ns, 'q', replaced, newJob());
    await f.engine.ack(f.ns, 'q', next);
    await f.engine.tidyNow(f.ns);

    expect(await f.keys()).toEqual([]);
  });

  it('is applied by a server to jobs that another server stored', async () => {
    const ids = await done(3, { retentionMs: 1_000 });
    const other = await EngineFixture.open({ clock: () => f.nowMs });
    try {
      f.nowMs += 1_000;
      await other.engine.pumpNow(f.ns);
      expect(await Promise.all(ids.map(find))).toEqual([null, null, null]);
    } finally {
      await other.close();
    }
  });

  it('removes any number of jobs in bounded steps', async () => {
    const steps: number[] = [];
    const observer = {
      ...silentObserver,
      script: (name: string) => name === 'extended_run_timers' && steps.push(1),
    };
    const pumper = await EngineFixture.open({ clock: () => f.nowMs, observer });
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const jobs = Array.from({ length: 64 }, () => ({
        queue: 'q',
        body: Buffer.from('x'),
        retentionMs: 1_000,
      }));
      await extended().extendedPublisher.publish(f.ns, jobs);
      const leased = await f.lease('q', { count: 64 });
      await extended().leaseOperations.complete(f.ns, leased);
      ids.push(...leased.map(({ id }) => id));
    }
    try {
      expect([ids.length, await ended()]).toEqual([320, 320]);
      f.nowMs += 1_001;
      await pumper.engine.pumpNow(f.ns);

      expect(await ended()).toBe(0);
      expect(steps.length).toBeGreaterThanOrEqual(320 / 64);
    } finally {
      await pumper.close();
    }
  });
});

describe('keys without a ttl', () => {
  /** Jobs of every kind, some ended by each of the ways there are. */
  async function mixedRun(f: EngineFixture): Promise<void> {
    const lease = (count: number, ttrMs: number): Promise<LeasedJob[]> => f.lease('q', { count, ttrMs });
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
    await f.engine.deadLetter.respawn(f.ns, 'q', 2, 60_000);
    await f.engine.tidyNow(f.ns);
    await f.lease('q', { count: 3 });
    await f.publish('q', { delayMs: 60_000 });
    await f.lease('without-publishes', { waitMs: 1 });
  }

  describe('the keys of a namespace', () => {
    it('have no TTL of Redis, but for the flags of long polls', async () => {
      const f = await EngineFixture.withClock();
      const redis = new Redis(testRedisUrl(), { protocol: 2 });
      await mixedRun(f);
      expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ scheduled: 5, leased: 3 }]);
      expect((await f.engine.deadLetter.head(f.ns, 'q')).size).toBeGreaterThan(0);

      const keys = await redis.keysBuffer(`{${f.ns}}*`);
      const kinds = new Set(keys.map((key) => /\}([jx]|:.)/.exec(key.toString('latin1'))?.[1]));
      // Every kind of key was made: bodies, attributes, each kind of place.
      for (const kind of ['j', 'x', ':r', ':s', ':l', ':d', ':f', ':i']) expect(kinds).toContain(kind);
      const mortal: string[] = [];
      for (const key of keys) if ((await redis.pttl(key)) !== -1) mortal.push(key.toString('latin1'));
      // A record of leases is removed within two ticks of its delivery.
      expect(mortal.filter((key) => !key.endsWith(':sending'))).toEqual([`{${f.ns}}:waiting`]);
      redis.disconnect();
      await f.close();
    });

    it('are all removed when its last job has expired in any state', async () => {
      const f = await EngineFixture.withClock();
      const job = newJob({ ttlMs: 10_000, tries: 3, attributes: { a: 'b' } });
      await f.engine.publishMany(f.ns, 'q', [job, job, job]);
      await f.lease('q', { ttrMs: 1_000 });
      f.nowMs += 1_000;
      await f.engine.pumpNow(f.ns);
      await f.lease('q', { ttrMs: 3_600_000 });
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
});

describe("the janitor's sweep", () => {
  /** More than a sweep looks at in one step, and than one script does. */
  const MANY = 700;
  const DELAY_MS = 60_000;

  describe('the sweep over all namespaces', () => {
    // Of its own: servers of other tests sweep all namespaces of a Redis.
    let redis: RedisProcess;
    let f: EngineFixture;
    const namespaces = Array.from({ length: MANY }, (_, i) => `ns${String(i)}`);
    beforeEach(async () => {
      redis = await startRedis();
      f = await EngineFixture.open({}, { url: redis.url });
    });
    afterEach(async () => {
      await f.close();
      await redis.stop();
    });

    const publishTo = (some: readonly string[], delayMs: number): Promise<unknown> =>
      Promise.all(some.map((namespace) => f.engine.publish(namespace, 'q', newJob({ delayMs }))));

    /** Walks over all of them, in looks of `count`. */
    async function dueSoon(count: number, horizonMs: number): Promise<{ found: string[]; pages: number }> {
      const found = new Set<string>();
      let cursor = WALK_END;
      let pages = 0;
      do {
        const page = await findDue(f.pool, { cursor, count, horizonMs });
        expect(page.total).toBe(MANY);
        for (const [namespace, dueMs] of page.due) {
          expect(dueMs).toBeLessThanOrEqual(horizonMs);
          found.add(namespace);
        }
        ({ cursor } = page);
        pages++;
      } while (cursor !== WALK_END);
      return { found: [...found].sort(), pages };
    }

    it('visits each namespace with something due soon, and no other', async () => {
      // Most of them have nothing that will ever be due.
      await publishTo(namespaces, 0);
      const soon = namespaces.filter((_, i) => i % 40 === 0);
      await publishTo(soon, DELAY_MS);
      const horizonMs = f.pool.clock.now() + DELAY_MS + 5_000;
      expect((await dueSoon(50, horizonMs)).found).toEqual([...soon].sort());

      await publishTo(namespaces, 2 * DELAY_MS);
      const { found, pages } = await dueSoon(50, horizonMs);
      expect(found).toEqual([...soon].sort());
      expect(pages).toBeGreaterThan(5);
      expect((await dueSoon(50, horizonMs + 2 * DELAY_MS)).found).toEqual([...namespaces].sort());
    });

    it('moves due jobs of a server that is gone, in any namespace, repeatedly', async () => {
      const other = await EngineFixture.open({}, { url: redis.url });
      try {
        await publishTo(namespaces, 50);
        // A namespace whose key is none of ours must not keep the others from it.
        await f.pool.read('DEL', f.pool.keys.namespace('ns5').due);
        await f.pool.read('SET', f.pool.keys.namespace('ns5').due, 'no zset');
        other.engine.start();
        const others = namespaces.filter((namespace) => namespace !== 'ns5');
        await waitFor(async () => (await readyIn(others)) === others.length, 15_000);
        // By now it knows how many there are, and goes in steps.
        await publishTo(others, 50);
        await waitFor(async () => (await readyIn(others)) === 2 * others.length, 15_000);
      } finally {
        await other.close();
      }
    });

    async function readyIn(some: readonly string[]): Promise<number> {
      const sizes = await Promise.all(some.map((namespace) => f.engine.queues.size(namespace, 'q')));
      return sizes.reduce((sum, size) => sum + size, 0);
    }
  });
});
