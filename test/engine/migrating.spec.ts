import type { LeasedJob, NewJob, LeaseRequest } from '../../src/domain/job/job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { Engines } from '../../src/engine/engines.js';
import { movingEngine } from '../../src/engine/moving/moving-engine.js';
import type { Engine } from '../../src/engine/engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { readIdempotencyRecord } from '../../src/redis/scripts/simple.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { newJob, silentLog, testPoolOptions } from './fixture.js';

describe("lmstfy's calls during a move", () => {
  /** Two pools: two key prefixes on the tests' Redis. */
  class Pools {
    private readonly others: readonly [PoolEngine, PoolEngine];

    private constructor(
      readonly ns: string,
      readonly pools: readonly [RedisPool, RedisPool],
      readonly old: PoolEngine,
      readonly next: PoolEngine,
    ) {
      this.others = [new PoolEngine(pools[0]), new PoolEngine(pools[1])];
    }

    static async open(commandTimeoutMs = 8_000): Promise<Pools> {
      const connect = (name: string): Promise<RedisPool> => {
        const keyPrefix = `${randomNamespace(name)}:`;
        return RedisPool.connect(name, testPoolOptions({ keyPrefix, commandTimeoutMs }), silentLog);
      };
      const [a, b] = [await connect('a'), await connect('b')];
      return new Pools(randomNamespace(), [a, b], new PoolEngine(a), new PoolEngine(b));
    }

    async close(): Promise<void> {
      await Promise.all([this.old, this.next, ...this.others].map((engine) => engine.stop()));
      await Promise.all(this.pools.map((pool) => pool.close()));
    }

    /** Publishes as another process does: a waiting request gets the job by a wake-up. */
    publishFromOtherEngine(which: 0 | 1, text: string): Promise<string> {
      return this.others[which].publish(this.ns, 'q', newJob({ body: Buffer.from(text) }));
    }

    waits(which: 0 | 1, queue: string): Promise<unknown> {
      const pool = this.pools[which];
      return waitFor(() => pool.read('HEXISTS', pool.keys.namespace(this.ns).waiting, queue));
    }
  }

  describe('a pool that moves to another Redis', () => {
    let p: Pools;
    let both: Engine;
    beforeEach(async () => {
      p = await Pools.open(500);
      both = movingEngine(p.old, p.next);
    });
    afterEach(() => p.close());

    const publish = (queues: Engine, text: string, job: Partial<NewJob> = {}, queue = 'q'): Promise<string> =>
      queues.publish(p.ns, queue, newJob({ body: Buffer.from(text), ...job }));
    const reserve = (queues: Engine, request: Partial<LeaseRequest> = {}): Promise<LeasedJob[]> =>
      queues.lease(p.ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0, ...request });
    const bodies = (jobs: readonly LeasedJob[]): string[] => jobs.map(({ body }) => body.toString());
    const sizes = async (queue = 'q'): Promise<number[]> => [
      await p.old.queues.size(p.ns, queue),
      await p.next.queues.size(p.ns, queue),
    ];

    it('stores published jobs in the new pool, singly and in bulk', async () => {
      await publish(both, 'one');
      await both.publishMany(p.ns, 'q', [newJob(), newJob()]);

      expect(await sizes()).toEqual([0, 3]);
    });

    it('publishes once under an idempotency key, and refuses a durability that the new pool does not offer', async () => {
      const options = { idempotencyKey: 'once' };
      const lone = { durability: 'replicated:9' } as const;

      const first = await both.publish(p.ns, 'q', newJob(), options);
      expect(await both.publish(p.ns, 'q', newJob(), options)).toBe(first);
      const many = await both.publishMany(p.ns, 'q', [newJob(), newJob()], { idempotencyKey: 'many' });
      expect(await both.publishMany(p.ns, 'q', [newJob(), newJob()], { idempotencyKey: 'many' })).toEqual(
        many,
      );
      const again = await both.republish(p.ns, 'q', first, newJob(), { idempotencyKey: 'anew' });
      expect(await both.republish(p.ns, 'q', first, newJob(), { idempotencyKey: 'anew' })).toBe(again);
      expect(await sizes()).toEqual([0, 3]);
      for (const call of [
        both.publish(p.ns, 'q', newJob(), lone),
        both.publishMany(p.ns, 'q', [newJob(), newJob()], lone),
        both.republish(p.ns, 'q', again, newJob(), lone),
      ])
        await expect(call).rejects.toMatchObject({ code: 'durability_unavailable' });
    });

    it('finds what was published under an idempotency key before the move, and stores nothing again', async () => {
      let replays = 0;
      const onReplay = (): void => void replays++;
      const [one, many, anew] = ['one', 'many', 'anew'].map((idempotencyKey) => ({
        idempotencyKey,
        onReplay,
      }));
      const publishAll = async (queues: Engine) => {
        const first = await queues.publish(p.ns, 'q', newJob(), one);
        const both = await queues.publishMany(p.ns, 'q', [newJob(), newJob()], many);
        return [first, ...both, await queues.republish(p.ns, 'q', first, newJob(), anew)];
      };
      const before = await publishAll(p.old);
      expect(replays).toBe(0);
      const work = async () => {
        const jobs = await reserve(both, { count: 10 });
        for (const { id } of jobs) await both.ack(p.ns, 'q', id);
        return jobs.length;
      };

      expect(await publishAll(both)).toEqual(before);
      expect(replays).toBe(3);
      expect(await work()).toBe(3);
      // Also when all is done, when it moves on from there, and when it moves back.
      expect(await publishAll(both)).toEqual(before);
      expect(await publishAll(movingEngine(p.next, p.old))).toEqual(before);
      expect(await sizes()).toEqual([0, 0]);
    });

    it('uses the record of an idempotency key in the old pool only if it is durable enough there', async () => {
      const options = { idempotencyKey: 'k' };
      const id = await p.old.publish(p.ns, 'q', newJob(), options);

      await expect(
        both.publish(p.ns, 'q', newJob(), { ...options, durability: 'replicated:9' }),
      ).rejects.toMatchObject({ code: 'durability_unavailable' });
      expect(await both.publish(p.ns, 'q', newJob(), { ...options, durability: 'memory' })).toBe(id);
      expect(await sizes()).toEqual([1, 0]);
    });

    it('refuses another request under an idempotency key of the old pool, and stores nothing', async () => {
      await p.old.publish(p.ns, 'q', newJob(), { idempotencyKey: 'k' });

      await expect(
        both.publish(p.ns, 'q', newJob({ body: Buffer.from('other') }), { idempotencyKey: 'k' }),
      ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
      expect(await sizes()).toEqual([1, 0]);
    });

    it('reads an idempotency record of the old pool after the deadline of the call', async () => {
      const [pool] = p.pools;
      const args = { clock_ms: '', deadline_ms: 1, digest: 'd', fingerprint: 'f' };
      expect(await pool.run(readIdempotencyRecord, pool.keys.namespace(p.ns), args)).toMatchObject({
        status: 1,
        found: 0,
      });
    });

    it('publishes once under an idempotency key while the old pool is unreachable', async () => {
      await p.pools[0].close();

      const id = await publish(both, 'x', {}, 'q');
      const keyed = await both.publish(p.ns, 'q', newJob(), { idempotencyKey: 'k' });
      expect(await both.publish(p.ns, 'q', newJob(), { idempotencyKey: 'k' })).toBe(keyed);
      expect(keyed).not.toBe(id);
      expect(await p.next.queues.size(p.ns, 'q')).toBe(2);
    });

    it('leases the jobs of the old pool first, in order, and then those of the new one', async () => {
      for (const text of ['old 1', 'old 2']) await publish(p.old, text);
      for (const text of ['new 1', 'new 2']) await publish(both, text);

      expect(bodies(await reserve(both))).toEqual(['old 1']);
      expect(bodies(await reserve(both, { count: 3, waitMs: 1_000 }))).toEqual(['old 2', 'new 1', 'new 2']);
      expect(await reserve(both)).toEqual([]);
    });

    it('checks all queues of the old pool before those of the new one', async () => {
      await publish(both, 'new high', {}, 'high');
      await publish(p.old, 'old low', {}, 'low');

      expect(bodies(await reserve(both, { queues: ['high', 'low'], count: 2 }))).toEqual([
        'old low',
        'new high',
      ]);
    });

    it.each([
      ['old', 0],
      ['new', 1],
    ] as const)(
      'wakes long polls when a job arrives in the %s pool',
      async (name, which) => {
        const wait = reserve(both, { waitMs: 60_000 });
        await Promise.all([p.waits(0, 'q'), p.waits(1, 'q')]);
        const id = await p.publishFromOtherEngine(which, name);

        expect((await wait).map((job) => job.id)).toEqual([id]);
      },
      10_000,
    );

    it.each([
      [1, ['old'], [0, 1]],
      [2, ['old', 'new'], [0, 0]],
    ])(
      'leases %i to a long poll for as many jobs when both pools have a job at one moment',
      async (count, given, left) => {
        let arrived = 0;
        let open = (): void => undefined;
        const gate = new Promise<void>((resolve) => (open = resolve));
        const held = (engine: PoolEngine): Engine =>
          Object.assign(Object.create(engine) as PoolEngine, {
            lease: async (ns: string, request: LeaseRequest) => {
              if (request.waitMs === 0) return [];
              const jobs = await engine.lease(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0 });
              if (++arrived === 2) open();
              await gate;
              return jobs;
            },
          });
        await publish(p.old, 'old');
        await publish(p.next, 'new');
        const jobs = await reserve(movingEngine(held(p.old), held(p.next)), { count, waitMs: 1_000 });

        expect(bodies(jobs)).toEqual(given);
        expect(await sizes()).toEqual(left);
      },
    );

    it('T43: leases one job to a long poll when a job arrives in each pool, and leaves the other job ready', async () => {
      for (let round = 0; round < 20; round++) {
        const wait = reserve(both, { waitMs: 20_000 });
        await Promise.all([p.waits(0, 'q'), p.waits(1, 'q')]);
        const ids = await Promise.all([
          p.publishFromOtherEngine(0, 'old'),
          p.publishFromOtherEngine(1, 'new'),
        ]);
        const got = await wait;

        expect(got).toHaveLength(1);
        const rest = ids.filter((id) => id !== got[0]?.id);
        await waitFor(async () => (await both.queues.size(p.ns, 'q')) === 1);
        const next = await reserve(both);
        expect(next.map((job) => job.id)).toEqual(rest);
        // Nothing was spent on it: what went back went back whole.
        expect(next[0]).toMatchObject({ triesLeft: 0, attempts: 1 });
        for (const id of ids) await both.ack(p.ns, 'q', id);
      }
    });

    it('lingers in each pool for itself, and leases from one that has the minimum', async () => {
      await publish(p.old, 'old');
      const wait = reserve(both, { count: 2, waitMs: 3_600_000, linger: { ms: 3_600_000, min: 2 } });
      await Promise.all([p.waits(0, 'q'), p.waits(1, 'q')]);
      const ids = [await p.publishFromOtherEngine(1, 'new'), await p.publishFromOtherEngine(1, 'new')];
      expect((await wait).map(({ id }) => id)).toEqual(ids);
      expect(await sizes()).toEqual([1, 0]);
    });

    it('undoes leases that did not reach the client, in the pool of each lease', async () => {
      await publish(p.old, 'old');
      await publish(p.next, 'new');
      const jobs = await reserve(both, { count: 2 });
      await both.undo(p.ns, jobs);

      expect(await sizes()).toEqual([1, 1]);
      expect(bodies(await reserve(both, { count: 2 }))).toEqual(['old', 'new']);
    });

    it('begins a job in the pool that leased it', async () => {
      const begun: string[] = [];
      const watched = (engine: PoolEngine, name: string): Engine =>
        Object.assign(Object.create(engine) as PoolEngine, {
          begin: (...args: Parameters<Engine['begin']>) => {
            begun.push(name);
            return engine.begin(...args);
          },
        });
      await publish(p.old, 'x');
      await publish(p.next, 'x');
      const moving = movingEngine(watched(p.old, 'old'), watched(p.next, 'new'));
      for (const job of await reserve(moving, { count: 2, confirms: true })) await moving.begin(p.ns, job);

      expect(begun).toEqual(['old', 'new']);
    });

    it('leases nothing for a consumer that disconnects during its long poll', async () => {
      await publish(p.old, 'old');
      const gone = new AbortController();
      const wait = reserve(both, { count: 2, waitMs: 20_000, signal: gone.signal });
      gone.abort();

      expect(await wait).toEqual([]);
      await waitFor(async () => (await p.old.queues.size(p.ns, 'q')) === 1);
    });

    it('acknowledges a job in the pool that has it, and refuses a wrong lease', async () => {
      for (const queues of [p.old, p.next]) await publish(queues, 'x', { tries: 2 });
      const jobs = await reserve(both, { count: 2 });
      const [old, next] = jobs;

      await expect(both.ack(p.ns, 'q', old!.id, 7)).rejects.toMatchObject({ code: 'lease_lost' });
      await expect(both.ack(p.ns, 'q', next!.id, 7)).rejects.toMatchObject({ code: 'lease_lost' });
      expect(await both.ack(p.ns, 'q', old!.id, old!.lease)).toBe(true);
      expect(await both.ack(p.ns, 'q', next!.id, next!.lease)).toBe(true);
      expect(await both.ack(p.ns, 'q', old!.id)).toBe(false);
    });

    it('acknowledges jobs of both pools in one call', async () => {
      const ids = [await publish(p.old, 'a'), await publish(p.next, 'b'), await publish(p.old, 'c')];
      const [leased] = await reserve(p.old);
      const acks = [
        { queue: 'q', id: ids[1]! },
        { queue: 'q', id: 'missing' },
        { queue: 'q', id: leased!.id, lease: 9 },
        { queue: 'q', id: ids[2]! },
      ];

      expect(await both.ackMany(p.ns, acks)).toEqual(['acked', 'not_found', 'lease_lost', 'acked']);
    });

    it('shows, counts and destroys the jobs of both pools', async () => {
      const [old, next] = [await publish(p.old, 'old'), await publish(p.next, 'new')];
      await publish(p.old, 'later', { delayMs: 60_000 });

      expect((await both.queues.peek(p.ns, 'q'))?.id).toBe(old);
      expect((await both.jobs.peekJob(p.ns, 'q', old))?.body.toString()).toBe('old');
      expect((await both.jobs.peekJob(p.ns, 'q', next))?.body.toString()).toBe('new');
      expect(await both.jobs.peekJob(p.ns, 'q', 'missing')).toBeNull();
      expect(await both.queues.size(p.ns, 'q')).toBe(2);
      expect(await both.queues.counts(p.ns, ['q'])).toMatchObject([{ queue: 'q', ready: 2, scheduled: 1 }]);
      expect(await both.queues.destroy(p.ns, 'q')).toBe(2);
      expect(await sizes()).toEqual([0, 0]);
      expect([await both.namespaces(), await both.queues.names(p.ns)]).toEqual([[p.ns], ['q']]);
    });

    it('shows, respawns and deletes the dead jobs of both pools, those of the old pool first', async () => {
      for (const queues of [p.old, p.next]) {
        await publish(queues, 'x');
        await publish(queues, 'y');
        await reserve(queues, { count: 2, ttrMs: 0 });
        await waitFor(async () => {
          await queues.pumpNow(p.ns);
          return (await queues.deadLetter.head(p.ns, 'q')).size === 2;
        });
      }
      const { id } = await p.old.deadLetter.head(p.ns, 'q');

      expect(await both.deadLetter.head(p.ns, 'q')).toEqual({ id, size: 4 });
      expect(await both.deadLetter.respawn(p.ns, 'q', 3, 0)).toBe(3);
      expect(await sizes()).toEqual([2, 1]);
      expect(await both.deadLetter.delete(p.ns, 'q', 5)).toBe(1);
    });

    it('refuses a chosen id that a job in either pool has', async () => {
      await publish(p.old, 'x', { id: 'mine' });

      await expect(publish(both, 'y', { id: 'mine' })).rejects.toMatchObject({ code: 'job_exists' });
      expect(await publish(both, 'y', { id: 'yours' })).toBe('yours');
      await expect(publish(both, 'z', { id: 'yours' })).rejects.toMatchObject({ code: 'job_exists' });
      await expect(
        both.publish(p.ns, 'q', newJob({ id: 'mine' }), { idempotencyKey: 'k' }),
      ).rejects.toMatchObject({ code: 'job_exists' });
    });

    it('stores nothing again that an earlier attempt stored in the old pool', async () => {
      const id = await publish(p.old, 'x');
      const ids = await p.old.publishMany(p.ns, 'q', [newJob(), newJob()]);
      const anew = await p.old.republish(p.ns, 'q', id, newJob());
      expect(await both.publish(p.ns, 'q', newJob(), { retryOf: [ids[0]!] })).toBe(ids[0]);
      expect(await both.publishMany(p.ns, 'q', [newJob(), newJob()], { retryOf: ids })).toEqual(ids);
      expect(await both.republish(p.ns, 'q', id, newJob(), { retryOf: [anew] })).toBe(anew);
      expect(await sizes()).toEqual([3, 0]);
      // What the earlier attempt did not store is stored in the new pool.
      const missing = '01JABCDEFGHJKMNPQRSTVWXYZ0';
      expect(await both.publish(p.ns, 'q', newJob(), { retryOf: [missing] })).toBe(missing);
      expect(await sizes()).toEqual([3, 1]);
    });

    it('T27: republishes a job into the new pool before it removes the former job from the old pool', async () => {
      const oldId = await publish(p.old, 'x');
      const order: string[] = [];
      const seen = async (what: string): Promise<void> => {
        order.push(`${what}: ${(await sizes()).join()}`);
      };
      const watched = movingEngine(
        Object.assign(Object.create(p.old) as PoolEngine, {
          ack: async (...args: Parameters<PoolEngine['ack']>) => {
            await seen('before the old one goes');
            return p.old.ack(...args);
          },
        }),
        p.next,
      );
      const id = await watched.republish(p.ns, 'q', oldId, newJob({ body: Buffer.from('y') }));
      await seen('after');

      expect(order).toEqual(['before the old one goes: 1,1', 'after: 0,1']);
      expect((await both.jobs.peekJob(p.ns, 'q', id))?.body.toString()).toBe('y');
      const again = await both.republish(p.ns, 'q', id, newJob());
      expect(await sizes()).toEqual([0, 1]);
      expect(await both.jobs.peekJob(p.ns, 'q', id)).toBeNull();
      expect(await both.jobs.peekJob(p.ns, 'q', again)).not.toBeNull();
    });

    it('sums the statistics of both pools, and sets settings in both', async () => {
      for (const [engine, failures] of [
        [p.old, 1],
        [p.next, 2],
      ] as const) {
        engine.stats.of(p.ns, 'q').failures += failures;
        await engine.stats.flush();
      }
      expect(await both.stats.read(p.ns, 'q', both.stats.today())).toMatchObject({ failures: 3 });

      await both.settings.set(p.ns, 'grace_ms', 7);
      expect(await both.settings.chosen(p.ns)).toEqual({ grace_ms: 7 });
      for (const engine of [p.old, p.next])
        expect(await engine.settings.of(p.ns)).toMatchObject({ grace_ms: 7 });
      expect(await both.settings.unset(p.ns, 'grace_ms')).toBe(true);
      for (const engine of [p.old, p.next]) expect(await engine.settings.chosen(p.ns)).toEqual({});
    });

    describe('an unreachable old pool', () => {
      beforeEach(() => p.pools[0].close());

      it('does not stop publish, lease and ack in the new pool', async () => {
        const first = await publish(both, 'first');
        expect(bodies(await reserve(both))).toEqual(['first']);
        expect(await both.ack(p.ns, 'q', first)).toBe(true);
        const wait = reserve(both, { waitMs: 20_000 });
        await p.waits(1, 'q');
        const id = await publish(both, 'second', { id: 'chosen' });

        expect(bodies(await wait)).toEqual(['second']);
        expect(await both.ackMany(p.ns, [{ queue: 'q', id }])).toEqual(['acked']);
        expect(await reserve(both, { waitMs: 50 })).toEqual([]);
        expect(await both.namespaces()).toEqual([p.ns]);
      });

      it('fails calls that need both pools, and changes nothing', async () => {
        const away = { code: 'pool_unavailable' };
        const id = await publish(both, 'x');

        await expect(both.republish(p.ns, 'q', id, newJob())).rejects.toMatchObject(away);
        await expect(both.queues.size(p.ns, 'q')).rejects.toMatchObject(away);
        await expect(both.queues.destroy(p.ns, 'q')).rejects.toMatchObject(away);
        await expect(both.queues.stored.purge(p.ns, 'q', ['ready'])).rejects.toMatchObject(away);
        await expect(both.ack(p.ns, 'q', 'elsewhere')).rejects.toMatchObject(away);
        expect(await p.next.queues.size(p.ns, 'q')).toBe(1);
      });
    });

    it('leases and acknowledges jobs of the old pool while the new pool is unreachable, and refuses publishes', async () => {
      const id = await publish(p.old, 'old');
      await p.pools[1].close();

      expect(bodies(await reserve(both))).toEqual(['old']);
      expect(await both.ack(p.ns, 'q', id)).toBe(true);
      await expect(publish(both, 'x')).rejects.toMatchObject({ code: 'pool_unavailable' });
      await expect(reserve(both)).rejects.toMatchObject({ code: 'pool_unavailable' });
    });

    it('destroys and purges nothing of a queue while the new pool is unreachable', async () => {
      await publish(p.old, 'old');
      await p.pools[1].close();
      await waitFor(() => Promise.resolve(!p.next.isUp));

      for (const call of [both.queues.destroy(p.ns, 'q'), both.queues.stored.purge(p.ns, 'q', ['ready'])])
        await expect(call).rejects.toMatchObject({ code: 'pool_unavailable' });
      expect(await p.old.queues.size(p.ns, 'q')).toBe(1);
    });

    it('refuses calls for a recurring job that may be in the old pool while that is unreachable', async () => {
      const tick = { id: 'tick', schedule: { everyMs: 60_000 }, template: { queue: 'q', ...newJob() } };
      await p.old.recurring.set(p.ns, tick);
      await p.next.recurring.set(p.ns, { ...tick, id: 'moved' });
      await p.pools[0].close();
      await waitFor(() => Promise.resolve(!p.old.isUp));
      const { recurring } = both;

      for (const call of [
        () => recurring.set(p.ns, tick),
        () => recurring.change(p.ns, 'tick', { maxCatchUp: 5 }),
        () => recurring.pause(p.ns, 'tick'),
        () => recurring.resume(p.ns, 'tick'),
        () => recurring.run(p.ns, 'tick'),
        () => recurring.remove(p.ns, 'tick'),
        () => recurring.get(p.ns, 'tick'),
        () => recurring.find(p.ns, 'tick'),
        () => recurring.next(p.ns, 'tick', 1),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'pool_unavailable' });
      expect(await p.next.recurring.find(p.ns, 'tick')).toBeNull();
      expect(await recurring.pause(p.ns, 'moved')).toMatchObject({ paused: true });
      const { schedule, template } = tick;
      expect(await recurring.set(p.ns, { schedule, template })).toMatchObject({ paused: false });
    });

    it('is refused if its target is unknown or moves back to it', () => {
      const engines = new Map([
        ['a', p.old],
        ['b', p.next],
      ]);
      const registry = new Engines(engines, new Map([['a', 'b']]));

      expect(registry.of('a')).not.toBe(p.old);
      expect(registry.of('b')).toBe(p.next);
      expect(registry.all()).toEqual([p.old, p.next]);
      expect(() => new Engines(engines, new Map([['a', 'c']]))).toThrow('pool c cannot be migrated to');
      expect(() => new Engines(engines, new Map([['a', 'b'], ['b', 'a']]))).toThrow(/migrated to/); // oxfmt-ignore
    });
  });
});

describe('native calls during a move', () => {
  const AWAY = { code: 'pool_unavailable' };

  /** Two pools: two key prefixes on the tests' Redis. */
  describe('the native API while a pool moves', () => {
    let ns: string;
    let pools: RedisPool[];
    let old: PoolEngine;
    let next: PoolEngine;
    let both: Engine;
    beforeEach(async () => {
      ns = randomNamespace();
      const connect = (name: string) =>
        RedisPool.connect(
          name,
          testPoolOptions({ keyPrefix: `${randomNamespace(name)}:`, commandTimeoutMs: 3_000 }),
          silentLog,
        );
      pools = [await connect('a'), await connect('b')];
      [old, next] = pools.map((pool) => new PoolEngine(pool)) as [PoolEngine, PoolEngine];
      both = movingEngine(old, next);
    });
    afterEach(async () => {
      await Promise.all([old, next].map((engine) => engine.stop()));
      await Promise.all(pools.map((pool) => pool.close()));
    });

    const job = (more: Partial<NewExtendedJob> = {}): NewExtendedJob => ({
      queue: 'q',
      body: Buffer.from('x'),
      type: 't',
      ...more,
    });
    const put = async (where: Pick<Engine, 'jobs'>, more: Partial<NewExtendedJob> = {}) =>
      (await where.jobs.publish(ns, [job(more)]))[0]!.id;
    const lease = async (count = 1) =>
      both.lease(ns, { queues: ['q'], count, ttrMs: 60_000, waitMs: 0, worker: 'w' });
    const sizes = async () => [await old.queues.size(ns, 'q'), await next.queues.size(ns, 'q')];

    it('publishes to the new pool, with all job options and an idempotency key', async () => {
      const options = { idempotencyKey: 'k' };
      const first = await both.jobs.publish(ns, [job({ priority: 3, retentionMs: 1 }), job()], options);
      expect(await both.jobs.publish(ns, [job({ priority: 3, retentionMs: 1 }), job()], options)).toEqual(
        first,
      );
      expect(await sizes()).toEqual([0, 2]);
    });

    it('finds what was published under an idempotency key before the move, until the jobs end', async () => {
      const wish = [job({ priority: 3, retentionMs: 60_000, unique: { key: 'u', mode: 'existing' } })];
      const options = { idempotencyKey: 'k' };
      const before = await old.jobs.publish(ns, wish, options);

      expect(await both.jobs.publish(ns, wish, options)).toEqual(before);
      await expect(both.jobs.publish(ns, [job()], options)).rejects.toMatchObject({
        code: 'idempotency_key_reused',
      });
      expect(await sizes()).toEqual([1, 0]);
      const waits = both.jobs.waitForEnd(ns, before[0]!.id, 10_000, new AbortController().signal);
      await both.settle.complete(ns, await lease());
      expect(await waits).toMatchObject({ id: before[0]!.id, state: 'done' });
      expect(await both.jobs.publish(ns, wish, options)).toEqual(before);
    });

    it.each<[string, Partial<NewExtendedJob>]>([
      ['unique', { unique: { key: 'k', mode: 'reject' } }],
      ['concurrency_key', { concurrencyKey: 'k' }],
      ['depends_on', { dependsOn: ['other'] }],
    ])('rejects %s during the move: it cannot be kept across two stores', async (field, more) => {
      await expect(both.jobs.publish(ns, [job(), job(more)])).rejects.toMatchObject({
        code: 'pool_moving',
        message: expect.stringContaining(field) as string,
      });
      expect(await sizes()).toEqual([0, 0]);
    });

    it('requires a chosen id to be free in both pools', async () => {
      await put(old, { id: 'mine' });
      await expect(put(both, { id: 'mine' })).rejects.toMatchObject({ code: 'job_exists' });
      await put(both, { id: 'other' });
      await expect(put(both, { id: 'other' })).rejects.toMatchObject({ code: 'job_exists' });
      // Each of our clients sends an idempotency key with every publish.
      const keyed = { idempotencyKey: 'of-the-client' };
      await expect(both.jobs.publish(ns, [job({ id: 'mine' })], keyed)).rejects.toMatchObject({
        code: 'job_exists',
      });
      expect(await next.jobs.find(ns, 'mine')).toBeNull();
    });

    it('stores nothing again that an earlier attempt stored in the old pool', async () => {
      const wish = [job({ unique: { key: 'u', mode: 'existing' } })];
      const stored = await old.jobs.publish(ns, wish);
      expect(await both.jobs.publish(ns, wish, { retryOf: [stored[0]!.id] })).toEqual(stored);
      expect(await sizes()).toEqual([1, 0]);
      // What the earlier attempt did not store is stored in the new pool.
      await both.jobs.publish(ns, [job()], { retryOf: ['01JABCDEFGHJKMNPQRSTVWXYZ0'] });
      expect(await next.jobs.find(ns, '01JABCDEFGHJKMNPQRSTVWXYZ0')).not.toBeNull();
    });

    it('leases the jobs of the old pool first, and settles each job in its pool', async () => {
      const ids = [
        await put(old),
        await put(old),
        await put(old),
        await put(both),
        await put(both),
        await put(both),
      ];
      const jobs = await lease(6);
      expect(jobs.map(({ id }) => id)).toEqual(ids);
      const { jobs: native, settle } = both;
      const [a, b, c, d, e, g] = jobs as [(typeof jobs)[0], ...typeof jobs] & (typeof jobs)[0][];
      for (const one of [a, d!]) {
        expect(await settle.heartbeat(ns, one, { ttrMs: 90_000 })).toMatchObject({ cancelRequested: false });
        await native.log(ns, one.id, 'half way');
        expect(await native.find(ns, one.id)).toMatchObject({ state: 'leased', worker: 'w' });
      }
      const beats = await settle.heartbeatMany(ns, [a, d!, { id: 'missing', lease: 1 }, b!], 90_000);
      expect(beats.map(({ status }) => status)).toEqual(['extended', 'extended', 'not_found', 'extended']);
      for (const one of [b!, e!]) {
        expect(await settle.retry(ns, { ...one, group: 'g', message: 'm', delayMs: 0 })).toMatchObject({
          state: 'ready',
        });
      }
      for (const one of [c!, g!]) {
        expect(await settle.fail(ns, { ...one, group: 'g', message: 'm' })).toMatchObject({ state: 'dead' });
      }
      expect(await settle.release(ns, a)).toMatchObject({ state: 'ready' });
      await expect(settle.revoke(ns, a.id)).rejects.toMatchObject({ code: 'not_leased', state: 'ready' });
      await expect(settle.revoke(ns, 'none')).rejects.toMatchObject({ code: 'job_not_found' });
      expect(await settle.complete(ns, [d!, { id: 'missing', lease: 1 }])).toEqual(['done', 'not_found']);
      expect((await old.queues.counts(ns, ['q']))[0]).toMatchObject({ ready: 2, dead: 1, leased: 0 });
      expect((await next.queues.counts(ns, ['q']))[0]).toMatchObject({ ready: 1, dead: 1, leased: 0 });
    });

    it('refuses a stale lease in either pool, and does not find an unknown job', async () => {
      for (const id of [await put(old), await put(both)]) {
        await expect(both.settle.heartbeat(ns, { id, lease: 7 })).rejects.toMatchObject({
          code: 'lease_lost',
        });
        expect(await both.settle.complete(ns, [{ id, lease: 7 }])).toEqual(['lease_lost']);
      }
      await expect(both.settle.release(ns, { id: 'none', lease: 1 })).rejects.toMatchObject({
        code: 'job_not_found',
      });
      expect(await both.jobs.find(ns, 'none')).toBeNull();
    });

    it('moves, changes and cancels a job within its pool, and refuses to add dependencies to it', async () => {
      const id = await put(old);
      const [leased] = await lease();
      expect(await both.settle.complete(ns, [{ ...leased!, next: { queue: 'r' } }])).toEqual(['done']);
      expect(await both.jobs.change(ns, id, { priority: 4 })).toMatchObject({ state: 'ready' });
      expect(await old.jobs.find(ns, id)).toMatchObject({ queue: 'r', priority: 4 });
      for (const refused of [
        both.jobs.change(ns, id, { moreDependencies: ['x'] }),
        both.jobs.put(ns, { queue: 'r', body: Buffer.from('x'), id }),
        both.settle.complete(ns, [{ ...leased!, next: { queue: 'r', dependsOn: ['x'] } }]),
      ])
        await expect(refused).rejects.toMatchObject({ code: 'pool_moving' });
      await both.jobs.cancel(ns, id);
      expect(await both.jobs.find(ns, id)).toBeNull();
    });

    it('cancels many jobs of one pool in one step, and none if the jobs are in two pools', async () => {
      const put2 = (jobs: Parameters<typeof put>[0], id: string) => put(jobs, { id });
      const [o1, o2] = [await put2(old, 'o1'), await put2(old, 'o2')];
      const [n1, n2] = [await put2(both, 'n1'), await put2(both, 'n2')];
      await expect(both.jobs.cancelMany(ns, [o1, n1])).rejects.toMatchObject({ code: 'pool_moving' });
      const outcomes = async (ids: string[]): Promise<string[]> =>
        (await both.jobs.cancelMany(ns, ids)).map(({ outcome }) => outcome);

      expect(await outcomes(['none', o1, o2])).toEqual(['not_found', 'cancelled', 'cancelled']);
      expect(await outcomes([n1, o1, n2])).toEqual(['cancelled', 'not_found', 'cancelled']);
      expect(await outcomes(['none', n1])).toEqual(['not_found', 'not_found']);
      for (const id of [o1, o2, n1, n2]) expect(await both.jobs.find(ns, id)).toBeNull();
    });

    it('returns the end of a job published during the move', async () => {
      const id = await put(both, { retentionMs: 60_000 });
      const waits = both.jobs.waitForEnd(ns, id, 10_000, new AbortController().signal);
      const [leased] = await lease();
      await both.settle.complete(ns, [leased!]);
      expect(await waits).toMatchObject({ id, state: 'done' });
    });

    it('publishes, leases and acknowledges without the old pool, and refuses calls for jobs that may be there', async () => {
      await pools[0]!.close();
      const id = await put(both, { id: 'mine' });
      const [leased] = await lease();
      expect(leased?.id).toBe(id);
      expect(await both.settle.heartbeat(ns, leased!)).toMatchObject({ cancelRequested: false });
      await expect(both.jobs.find(ns, 'elsewhere')).rejects.toMatchObject(AWAY);
      expect(await both.settle.complete(ns, [leased!])).toEqual(['done']);
      await expect(both.settle.complete(ns, [leased!])).rejects.toMatchObject(AWAY);
    });

    it('drains the old pool while the new one is unreachable', async () => {
      await put(old);
      await old.publish(ns, 'q', newJob());
      const [one, two] = await lease(2);
      await pools[1]!.close();
      expect(await both.settle.complete(ns, [one!])).toEqual(['done']);
      expect(await both.settle.retry(ns, { ...two!, group: 'g', message: '' })).toMatchObject({
        state: 'dead',
      });
      await expect(both.settle.complete(ns, [one!])).rejects.toMatchObject(AWAY);
      await expect(put(both)).rejects.toMatchObject(AWAY);
    });
  });
});
