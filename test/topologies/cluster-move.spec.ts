import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { LeasedJob, NewJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { decodeId, encodeId } from '../../src/engine/core/ids.js';
import { digestOf } from '../../src/engine/publish/idempotency-records.js';
import { RedisPool } from '../../src/redis/pool.js';
import * as extended from '../../src/redis/scripts/extended.js';
import { readEvents, pump } from '../../src/redis/scripts/simple.js';
import { type ClusterNode, SlotMove, TestCluster } from '../support/cluster.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace } from '../support/redis.js';
import { IS_LONG, SEED, someOf } from '../support/scale.js';
import { Audit, SLOT_MS } from '../engine/audit.js';
import { type Call, type Case, CASES, ORDERS, type Seeded, TARGET, WRITERS } from './cluster-cases.js';
import { newJob, silentLog } from '../engine/fixture.js';
import { dump, send } from '../engine/slot-calls.js';

describe('scripts of simple jobs', () => {
  /** The script is called after every fourth key that moves, from a random one on; in the long form after each key. */
  const STEP = IS_LONG ? 1 : 4;
  const STARTS = [1, 2, 3, 5];
  const random = randomFrom(SEED);
  const pick = (numbers: readonly number[]): number => numbers[Math.floor(random() * numbers.length)]!;
  /** So that each job counts, and who removes one takes it off the sum. */
  const BYTES = { queues: 0, jobsPerQueue: 0, bytes: 1_000_000 };

  describe('a moving slot', () => {
    let cluster: TestCluster;
    let pool: RedisPool;
    beforeAll(async () => {
      cluster = await TestCluster.start();
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 8_000 };
      pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
    });
    afterAll(async () => {
      await pool.close();
      await cluster.stop();
    });

    /**
     * Jobs in every state in one queue, all with extra data and counted for a quota, and every key that a script may
     * touch: a missing key is one that has not moved yet.
     */
    async function seed(): Promise<Seeded> {
      const ns = randomNamespace();
      // Half a minute before a slot begins: its jobs are to be moved near, but are not late.
      const nowMs = Math.floor(Date.now() / SLOT_MS) * SLOT_MS - 30_000;
      // Its time is a minute ago: what is soon over for it is over for the script.
      const pastMs = nowMs - 60_000;
      const engine = new PoolEngine(pool, { clock: () => pastMs, quotas: BYTES });
      const publish = (count: number, job = {}): Promise<string[]> =>
        engine.publishMany(ns, 'q', jobsLike(count, job));
      const reserve = (ttrMs: number): Promise<LeasedJob[]> =>
        engine.lease(ns, { queues: ['q'], count: 2, ttrMs, waitMs: 0, confirms: ttrMs === 600_000 });
      const dead = await publish(2);
      await reserve(0);
      await engine.pumpNow(ns);
      await publish(2, { tries: 5, ttlMs: 600_000 });
      // One of them has tries left, the other goes to the dead letter.
      await publish(1, { tries: 1 });
      const lapsed = [...(await reserve(30_000)), ...(await reserve(30_000))];
      await publish(2, { tries: 5 });
      const leased = [...lapsed, ...(await reserve(600_000))];
      const expired = await publish(2, { ttlMs: 30_000 });
      const ready = await publish(6, { ttlMs: 600_000 });
      await engine.ack(ns, 'q', ready[0] ?? '');
      const scheduled = [
        ...(await publish(1, { delayMs: 30_000 })),
        ...(await publish(1, { delayMs: 600_000 })),
      ];
      const far = await seedFar(ns, nowMs);
      await engine.publish(ns, 'p', newJob({ delayMs: 600_000 }));
      await pool.read('HSET', `{${ns}}:waiting`, 'another', '1');
      await pool.read('HSET', `{${ns}}:targets`, 't:billing', TARGET, 'v', '1', 'a', '1');
      await pool.read('ZADD', `{${ns}}:target_changes`, '1', 't:billing', '1', 'v');
      // With a subscriber: a script that looks for a missing stream would wait for the end of the move, whatever else
      // it does.
      await pool.read('XADD', `{${ns}}:events`, '*', 'e', 'published');
      await engine.stop();
      const [record = ''] = (await pool.read('HKEYS', `{${ns}}:sending`)) as string[];
      return { ns, nowMs, ready: ready.slice(1), expired, scheduled, far, leased, dead, record };
    }

    /**
     * Jobs in the lists of two slots: one begins in half a minute, the other in hours. The latter has a stale entry,
     * which would stop every script that reads it until the slot has moved.
     */
    async function seedFar(ns: string, nowMs: number): Promise<string[]> {
      const early = new PoolEngine(pool, { clock: () => nowMs - 3_600_000, quotas: BYTES });
      const near = await early.publishMany(ns, 'q', jobsLike(2, { delayMs: 3_660_000 }));
      const later = await early.publishMany(ns, 'q', jobsLike(3, { delayMs: 18_000_000 }));
      await early.ack(ns, 'q', later.pop() ?? '');
      await early.stop();
      return [...near, ...later];
    }

    describe.each([...Object.keys(ORDERS).entries()])('key order %i: %s', (round, order) => {
      it.each(someOf(CASES, round))('lets $name succeed, or fail without a change', (script) =>
        play(script, order, 0),
      );
    });

    // A script that has gone through has nothing left to do: to meet it in the midst, it must come when some keys have moved already.
    describe.each([
      [0, "its queues' keys first"],
      [1, "its queues' keys first, backwards"],
    ])('key order %i: %s', (round, order) => {
      describe.each(IS_LONG ? STARTS : [pick(STARTS)])('%i keys have moved already', (moved) => {
        it.each(someOf(WRITERS, round))('lets $name succeed, or fail without a change', (script) =>
          play(script, order, moved),
        );
      });
    });

    describe.each<[number, string, RegExp]>([
      [0, 'attributes first', /\}x/],
      [1, 'far slots last', /\}(?!:f)/],
      [2, 'the namespace first, its jobs last', /\}:/],
    ])('key order %i: %s, the first ones have moved already', (round, order, first) => {
      it.each(someOf(WRITERS, round))('lets $name succeed, or fail without a change', (script) =>
        play(script, order, first),
      );
    });

    it('does not hide an idempotency record that has not moved yet', async () => {
      const ns = randomNamespace();
      const engine = new PoolEngine(pool);
      const id = await engine.publish(ns, 'q', newJob(), { idempotencyKey: 'key' });
      const record = pool.keys.idempotencyRecord(ns, digestOf('q', 'key'));
      const move = await SlotMove.begin(cluster, `{${ns}}`);
      for (const key of await move.keysAt(move.source)) if (!key.equals(record)) await move.moveKey(key);

      // It goes on trying until the slot has moved: the last key goes while it does.
      const again = engine.publish(ns, 'q', newJob(), { idempotencyKey: 'key' });
      await sleep(100);
      expect(await jobsOf(move.target.redis, ns)).toEqual(new Set([id]));
      await move.moveKey(record);
      await move.finish();
      expect(await again).toBe(id);
      expect(await engine.queues.size(ns, 'q')).toBe(1);
    });

    /** Moves a slot key by key. Once `from` keys have moved (a number, or all with such a name), calls a script after each STEP of them. */
    async function play({ call, mayTake }: Case, order: string, from: number | RegExp): Promise<void> {
      const seeded = await seed();
      const rank = ORDERS[order]!;
      const move = await SlotMove.begin(cluster, `{${seeded.ns}}`);
      const taken = new Set<string>();
      const names = (await move.keysAt(move.source)).map((key) => key.toString('latin1'));
      const begin = typeof from === 'number' ? from : names.filter((name) => from.test(name)).length;
      const offset = typeof from === 'number' ? Math.floor(random() * STEP) : 0;
      for (let moved = 0; ; moved++) {
        if (moved >= begin && (moved - begin) % STEP === offset) {
          const outcome = await tryAt(move, move.source, call(seeded), seeded.ns, taken);
          if (outcome.startsWith('ASK')) await tryAt(move, move.target, call(seeded), seeded.ns, taken);
        }
        const [next] = (await move.keysAt(move.source)).sort((a, b) =>
          rank(a.toString('latin1')) < rank(b.toString('latin1')) ? -1 : 1,
        );
        if (!next) break;
        await move.moveKey(next);
      }
      await move.finish();

      await send(move.target.redis, false, call(seeded), seeded.ns);
      expect(await Audit.of(move.target.redis, seeded.ns)).toEqual([]);
      const ids = await jobsOf(move.target.redis, seeded.ns);
      const { ready, expired, scheduled, far, leased, dead } = seeded;
      const all = [...ready, ...expired, ...scheduled, ...far, ...leased.map(({ id }) => id), ...dead];
      expect(all.filter((id) => !ids.has(id) && !mayTake(seeded).includes(id))).toEqual([]);
    }

    /** Runs a call on one node, whatever comes of it; after an error both nodes hold what they held. Returns the error's message. */
    async function tryAt(
      move: SlotMove,
      node: ClusterNode,
      call: Call,
      ns: string,
      acked: Set<string>,
    ): Promise<string> {
      const before = await dump(move);
      const reply = await send(node.redis, node === move.target, call, ns).catch((error: unknown) => error);
      if (reply instanceof Error) {
        expect(reply.message).toMatch(/^(TRYAGAIN|ASK)|non local key/);
        expect(await dump(move)).toEqual(before);
        return reply.message;
      }
      if (call.binding.name === 'simple/ack') {
        // Told that there is no such job, a worker believes that its work is recorded: it must be true.
        const codes = String((reply as Buffer[])[2]);
        call.items.forEach(([, , id], i) =>
          codes[i] === '0' ? expect(acked).toContain(String(id)) : acked.add(String(id)),
        );
      }
      return '';
    }
  });

  function jobsLike(count: number, job: Partial<NewJob>): NewJob[] {
    return Array.from({ length: count }, () => newJob({ attributes: { a: 'b' }, ...job }));
  }

  async function jobsOf(redis: Redis, ns: string): Promise<Set<string>> {
    const prefix = `{${ns}}j`;
    const keys = (await redis.callBuffer('KEYS', `${prefix}*`)) as Buffer[];
    return new Set(keys.map((key) => decodeId(key.subarray(prefix.length))));
  }
});

describe('scripts of extended jobs', () => {
  /** A namespace in which every key is there that a script may look for first: nothing stops it before it writes. */
  interface Seeded {
    readonly ns: string;
    readonly nowMs: number;
    readonly leased: LeasedJob;
    readonly scheduled: string;
  }

  describe('a moving slot whose keys have not moved yet', () => {
    let cluster: TestCluster;
    let pool: RedisPool;
    beforeAll(async () => {
      cluster = await TestCluster.start();
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 8_000 };
      pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
    });
    afterAll(async () => {
      await pool.close();
      await cluster.stop();
    });

    /** A lease, expired or not, and a scheduled job, together with dead, far and ready jobs and stale entries. */
    async function seed(isExtended: boolean): Promise<Seeded> {
      const ns = randomNamespace();
      const nowMs = Math.floor(Date.now() / SLOT_MS) * SLOT_MS - 30_000;
      const engine = new PoolEngine(pool, { clock: () => nowMs - 60_000 });
      const type = { type: 't', tags: ['tag'] };
      const put = async (job: object): Promise<string> => {
        if (!isExtended) return engine.publish(ns, 'q', newJob({ tries: 5, ...job }));
        const whole = { queue: 'q', body: Buffer.from('x'), tries: 5, ...type, ...job };
        return (await engine.components.extendedPublisher.publish(ns, [whole]))[0]?.id ?? '';
      };
      const reserve = (ttrMs: number): Promise<LeasedJob[]> =>
        engine.lease(ns, {
          queues: ['q'],
          count: 1,
          ttrMs,
          waitMs: 0,
          confirms: true,
          ...(isExtended ? { worker: 'w' } : {}),
        });
      await pool.run(readEvents, pool.keys.namespace(ns), {
        after: '',
        count: 1,
        keep_ms: 60_000,
        most: 10_000,
      });
      // A lease in another queue, whose answer may not have left.
      await engine.publish(ns, 'p', newJob());
      await engine.lease(ns, { queues: ['p'], count: 1, ttrMs: 600_000, waitMs: 0, confirms: true });
      await engine.publish(ns, 'q', newJob({ tries: 1 }));
      await reserve(0);
      await engine.pumpNow(ns);
      await engine.publish(ns, 'q', newJob({ delayMs: 18_000_000 }));
      if (isExtended) await prepare(engine, ns, put);
      await put({});
      const [leased] = await reserve(isExtended ? 600_000 : 30_000);
      const scheduled = await put({ delayMs: isExtended ? 30_000 : 600_000 });
      const ready = [
        await put({ ttlMs: 600_000 }),
        await put({ ttlMs: 600_000 }),
        await put({ ttlMs: 600_000 }),
      ];
      await engine.ack(ns, 'q', ready[1] ?? '');
      await pool.read('HSET', `{${ns}}:waiting`, 'another', '1');
      await engine.stop();
      return { ns, nowMs, leased: leased!, scheduled };
    }

    /** What the extended path reads besides jobs: settings, other priorities. */
    async function prepare(
      engine: PoolEngine,
      ns: string,
      put: (job: object) => Promise<string>,
    ): Promise<void> {
      await engine.components.queueControls.change(ns, 'q', { maxKept: 5, defaults: { tries: 3 } });
      await engine.settings.set(ns, 'grace_ms', 5);
      await put({ priority: 5 });
      await engine.pumpNow(ns);
    }

    it.each<[string, boolean, (seeded: Seeded) => Pick<Call, 'args' | 'items'> & { binding: unknown }]>([
      ['the pump', false, () => ({ binding: pump, args: { limit: 100 }, items: [] })],
      [
        'the clock',
        true,
        () => ({
          binding: extended.runTimers,
          args: { limit: 64, quotas: '', checks_rights: '1' },
          items: [],
        }),
      ],
      ...['heartbeat', 'release', 'retry', 'fail', 'ack'].map(
        (
          verb,
        ): [string, boolean, (seeded: Seeded) => Pick<Call, 'args' | 'items'> & { binding: unknown }] => [
          verb,
          true,
          ({ leased: { id, lease } }) => ({
            binding: extended.extendedSettle,
            args: {},
            items: [[verb, encodeId(id)!, lease, '{"delay_ms":1000,"group":"g","message":"m"}', '']],
          }),
        ],
      ),
      [
        'a change',
        true,
        ({ scheduled }) => ({
          binding: extended.changeJob,
          args: { id: encodeId(scheduled)!, options: '{"delay_ms":5000}', data: '', adds: '', drops: '' },
          items: [],
        }),
      ],
    ])('lets %s succeed, or fail without a change', async (_name, isExtended, callOf) => {
      const seeded = await seed(isExtended);
      const { binding, args, items } = callOf(seeded);
      const call = {
        binding: binding as Call['binding'],
        args: { clock_ms: String(seeded.nowMs), deadline_ms: 0, ...args },
        items,
      };
      const move = await SlotMove.begin(cluster, `{${seeded.ns}}`);
      const before = await dump(move);

      const outcome = await send(move.source.redis, false, call, seeded.ns).catch((error: unknown) => error);

      if (outcome instanceof Error) expect(await dump(move)).toEqual(before);
      await move.complete(100);
      await send(move.target.redis, false, call, seeded.ns);
      expect(await Audit.of(move.target.redis, seeded.ns)).toEqual([]);
    });
  });
});
