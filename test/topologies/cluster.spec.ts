import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'ioredis';
import { tokenDigest } from '../../src/auth/credentials.js';
import { TokenInventory } from '../../src/auth/token-inventory.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { type TokenId, TokenStore } from '../../src/auth/token-store.js';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { Calls, RedisClock } from '../../src/redis/calls.js';
import { ClusterNodes } from '../../src/redis/cluster/nodes.js';
import { ClusterWakeups } from '../../src/redis/cluster/wakeups.js';
import { createClient } from '../../src/redis/connect.js';
import { Keys } from '../../src/redis/keys.js';
import { LeaseFloor } from '../../src/redis/lease-floor.js';
import { LossDetector } from '../../src/redis/loss-detector.js';
import type { DurablePaths } from '../../src/redis/durable/paths.js';
import { RedisPool } from '../../src/redis/pool.js';
import { type ClusterNode, SlotMove, TestCluster } from '../support/cluster.js';
import { OwnTime } from '../support/own-time.js';
import { SLOWNESS } from '../support/scale.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { newJob, silentLog } from '../engine/fixture.js';

describe('Redis Clusters', () => {
  describe('an engine on a Redis Cluster', () => {
    let cluster: TestCluster;
    let pool: RedisPool;
    let engine: PoolEngine;
    beforeAll(async () => {
      cluster = await TestCluster.start();
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 };
      pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
      engine = new PoolEngine(pool);
      engine.start();
    });
    afterAll(async () => {
      await engine.stop();
      await pool.close();
      await cluster.stop();
    });

    it('accepts every operation, in namespaces on all nodes', async () => {
      // Of twelve random names, one time in fifty none is on one of the nodes.
      const namespaces: string[] = [];
      const leaseOperations = new Set<string>();
      while (namespaces.length < 12 || leaseOperations.size < 3) {
        const ns = randomNamespace();
        namespaces.push(ns);
        leaseOperations.add((await cluster.ownerOf(`{${ns}}`)).owner.id);
      }

      await Promise.all(namespaces.map((ns) => everyOperation(engine, ns)));

      expect(await engine.namespaces()).toEqual(expect.arrayContaining(namespaces));
    });

    it('publishes once under an idempotency key, and counts bytes for a quota on all nodes', async () => {
      const namespaces = Array.from({ length: 12 }, () => randomNamespace());
      const publish = (ns: string): Promise<string> =>
        engine.publish(ns, 'q', newJob({ body: Buffer.from('12345') }), { idempotencyKey: 'key' });
      const ids = await Promise.all(namespaces.map(publish));
      expect(await Promise.all(namespaces.map(publish))).toEqual(ids);

      const counting = new PoolEngine(pool, { quotas: { queues: 0, jobsPerQueue: 0, bytes: 8 } });
      expect(await counting.countBytesNow()).toBeGreaterThanOrEqual(12);
      const refused = namespaces.map((ns) =>
        counting.publish(ns, 'q', newJob({ body: Buffer.from('1234') })),
      );
      for (const outcome of await Promise.allSettled(refused))
        expect(outcome).toMatchObject({ reason: { code: 'namespace_full' } });
    });

    it('wakes a waiting consumer', async () => {
      const producer = new PoolEngine(pool);
      for (const ns of Array.from({ length: 6 }, () => randomNamespace())) {
        const waiting = engine.lease(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 10_000 });
        await waitFor(async () => (await pool.read('EXISTS', `{${ns}}:waiting`)) === 1);
        const time = new OwnTime();
        const id = await producer.publish(ns, 'q', newJob());

        expect((await waiting).map((job) => job.id)).toEqual([id]);
        // The second look would come after 850 ms.
        expect(time.end()).toBeLessThan(500);
      }
      await producer.stop();
    });

    it('refuses calls with pool_unavailable while a slot moves key by key, loses no job, and serves again afterwards', async () => {
      const ns = randomNamespace();
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: Math.ceil(200 * SLOWNESS) };
      const hasty = await RedisPool.connect(
        'hasty',
        { ...options, clusterNodes: cluster.addresses },
        silentLog,
      );
      const server = new PoolEngine(hasty);
      const stored = new Set<string>();
      const given = new Set<string>();
      const refusals: unknown[] = [];
      const bear = (error: unknown): void => void refusals.push(error);
      const work = (): Promise<unknown> =>
        Promise.all([
          server.publish(ns, 'q', newJob({ ttlMs: 600_000 })).then((id) => stored.add(id), bear),
          server
            .lease(ns, { queues: ['q'], count: 1, ttrMs: 600_000, waitMs: 0 })
            .then((jobs) => jobs.forEach(({ id }) => given.add(id)), bear),
        ]);
      for (let i = 0; i < 8; i++) await engine.publish(ns, 'q', newJob()).then((id) => stored.add(id));
      await work();
      const move = await SlotMove.begin(cluster, `{${ns}}`);
      for (let [key] = await move.keysAt(move.source); key; [key] = await move.keysAt(move.source)) {
        await work();
        await move.moveKey(key);
      }
      await work();
      await move.finish();

      for (const error of refusals) expect(error).toMatchObject({ code: 'pool_unavailable' });
      expect(refusals).not.toEqual([]);
      await waitFor(() => engine.publish(ns, 'q', newJob()).then((id) => stored.add(id)), 5_000);
      const rest = await engine.lease(ns, { queues: ['q'], count: 100, ttrMs: 600_000, waitMs: 0 });
      for (const { id } of rest) given.add(id);
      expect(given).toEqual(stored);
      await server.stop();
      await hasty.close();
    });

    it('refuses calls to a dead node within 0.8 s, and serves again after its restart', async () => {
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 400 };
      const hasty = await RedisPool.connect(
        'hasty',
        { ...options, clusterNodes: cluster.addresses },
        silentLog,
      );
      const server = new PoolEngine(hasty);
      const ns = randomNamespace();
      const { owner } = await cluster.ownerOf(`{${ns}}`);
      const id = await server.publish(ns, 'q', newJob());
      const waiting = server.lease(ns, { queues: ['waited'], count: 1, ttrMs: 60_000, waitMs: 25_000 });
      await waitFor(async () => (await hasty.read('EXISTS', `{${ns}}:waiting`)) === 1);
      await cluster.kill(owner);
      const calls = [
        (): Promise<unknown> => server.publish(ns, 'q', newJob()),
        (): Promise<unknown> => server.lease(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0 }),
        (): Promise<unknown> => server.ack(ns, 'q', id),
        (): Promise<unknown> => server.queues.size(ns, 'q'),
      ];
      for (let round = 0; round < 3; round++) {
        const time = new OwnTime();
        for (const result of await Promise.allSettled(calls.map((call) => call()))) {
          expect(result).toMatchObject({ status: 'rejected', reason: { code: 'pool_unavailable' } });
        }
        expect(time.end()).toBeLessThan(800);
      }
      await cluster.restart(owner);

      await waitFor(() => engine.publish(ns, 'waited', newJob()), 10_000);
      expect(await waiting).toHaveLength(1);
      expect(await server.queues.peek(ns, 'q')).toMatchObject({ id });
      await server.stop();
      await hasty.close();
    });
  });

  async function everyOperation(engine: PoolEngine, ns: string): Promise<void> {
    const reserve = (queue: string, ttrMs = 60_000): Promise<{ id: string; lease: number }[]> =>
      engine.lease(ns, { queues: ['none', queue], count: 10, ttrMs, waitMs: 2_000 });
    const first = await engine.publish(ns, 'q', newJob({ tries: 3, attributes: { a: 'b' }, ttlMs: 60_000 }));
    await engine.publishMany(ns, 'later', [newJob({ delayMs: 50 }), newJob({ delayMs: 60 })]);
    expect((await engine.queues.peek(ns, 'q'))?.id).toBe(first);
    const leased = await reserve('q');
    await engine.undo(ns, leased);
    const again = await reserve('q');
    expect(await engine.ack(ns, 'q', first, again[0]?.lease)).toBe(true);
    expect(await engine.jobs.peekJob(ns, 'q', first)).toBeNull();
    expect(await reserve('later', 10)).not.toEqual([]);
    await waitFor(async () => (await engine.deadLetter.head(ns, 'later')).size > 0);
    expect(await engine.deadLetter.respawn(ns, 'later', 1, 60_000)).toBe(1);
    await engine.deadLetter.delete(ns, 'later', 5);
    const old = await engine.publish(ns, 'q', newJob());
    await engine.republish(ns, 'q', old, newJob());
    expect(await engine.queues.size(ns, 'q')).toBe(1);
    expect(await engine.queues.destroy(ns, 'q')).toBe(1);
    expect(await engine.queues.names(ns)).toEqual(['later', 'q']);
    expect(await engine.tidyNow(ns)).toBeGreaterThanOrEqual(1);
  }
});

describe("the list of a Cluster's namespaces", () => {
  const LIST = 'pumphouse:namespaces';
  /** Longer than a replica is stopped here: no node may take over. */
  const NODE_TIMEOUT_MS = 60_000;

  describe('a namespace of a Cluster with durability replicated:1', () => {
    let cluster: TestCluster;
    let pool: RedisPool;
    let engine: PoolEngine;
    let replica: ClusterNode;
    beforeAll(async () => {
      cluster = await TestCluster.start(3, 1, NODE_TIMEOUT_MS);
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 3_000, waitTimeoutMs: 600 };
      pool = await RedisPool.connect(
        'default',
        { ...options, clusterNodes: cluster.addresses, durability: 'replicated:1' },
        silentLog,
      );
      engine = new PoolEngine(pool);
      const { owner } = await cluster.ownerOf(LIST);
      replica = cluster.replicas[cluster.masters.indexOf(owner)]!;
    });
    afterAll(async () => {
      process.kill(replica.server.pid, 'SIGCONT');
      await engine.stop();
      await pool.close();
      await cluster.stop();
    });

    /** Its jobs are on another node than the list of namespaces. */
    async function elsewhere(): Promise<string> {
      const { owner } = await cluster.ownerOf(LIST);
      for (;;) {
        const ns = randomNamespace('listed');
        if ((await cluster.ownerOf(`{${ns}}`)).owner !== owner) return ns;
      }
    }

    it('is on the list, as durably as its first job, before the publish of the job succeeds', async () => {
      const [known, ns] = [await elsewhere(), await elsewhere()];
      await waitFor(() => engine.publish(known, 'q', newJob()), 15_000);
      process.kill(replica.server.pid, 'SIGSTOP');
      const refused = await engine.publish(ns, 'q', newJob()).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'not_replicated', jobIds: [expect.any(String)] });
      // The job is as safe as it was to be; what it is listed in is not.
      expect(await engine.queues.size(ns, 'q')).toBe(1);
      await engine.publish(known, 'q', newJob());

      process.kill(replica.server.pid, 'SIGCONT');
      const { jobIds } = refused as { jobIds: string[] };
      const again = (): Promise<string> => engine.publish(ns, 'q', newJob(), { retryOf: jobIds });
      expect(await waitFor(again, 15_000)).toBe(jobIds[0]);
      expect(await engine.queues.size(ns, 'q')).toBe(1);
      await replica.redis.call('READONLY');
      expect(await replica.redis.sismember(LIST, ns)).toBe(1);
    });

    it('is published to while another master has lost its replica', async () => {
      const known = await elsewhere();
      await waitFor(() => engine.publish(known, 'q', newJob()), 15_000);
      const { owner } = await cluster.ownerOf(LIST);
      let lost = randomNamespace();
      while ((await cluster.ownerOf(`{${lost}}`)).owner !== owner) lost = randomNamespace();
      process.kill(replica.server.pid, 'SIGSTOP');
      await owner.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
      // As after ten seconds.
      (Reflect.get(pool, 'durable') as DurablePaths).doubt();
      await engine.publish(known, 'q', newJob());
      await expect(engine.publish(lost, 'q', newJob())).rejects.toMatchObject({
        code: 'durability_unavailable',
      });
      process.kill(replica.server.pid, 'SIGCONT');
    });
  });
});

describe('failing nodes of a Cluster', () => {
  /** A silent node must be known for what it is within this; it takes about 3 s: a probe's pause and its time-out. */
  const DETECTED_MS = 10_000;

  describe('the nodes of a Cluster', () => {
    let cluster: TestCluster;
    let proxies: TcpProxy[];
    let pool: RedisPool;
    let engine: PoolEngine;
    beforeAll(async () => {
      cluster = await TestCluster.start();
      proxies = await Promise.all(cluster.masters.map((node) => cluster.proxy(node)));
    });
    afterAll(async () => {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await cluster.stop();
    });
    beforeEach(async () => {
      const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 1_000 };
      pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
      engine = new PoolEngine(pool);
      engine.start();
    });
    afterEach(async () => {
      await engine.stop();
      await pool.close();
    });

    /** A namespace at each node, in their order; its servers are connected to all of them. */
    async function namespaces(): Promise<string[]> {
      const found: string[] = [];
      for (const [i, node] of cluster.masters.entries()) {
        while (found.length === i) {
          const ns = randomNamespace();
          if ((await cluster.ownerOf(`{${ns}}`)).owner === node) found.push(ns);
        }
        await engine.publish(found[i]!, 'q', newJob());
      }
      return found;
    }

    const publish = (ns: string): Promise<string> => engine.publish(ns, 'q', newJob());

    /** Ids of the connections that servers have to a node for commands. */
    async function connections({ redis }: ClusterNode): Promise<string[]> {
      const list = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'normal'));
      return [...list.matchAll(/^id=(\d+) .* name=pumphouse-\d+ /gm)].map(([, id = '']) => id);
    }

    it('have only their half-open connection replaced if one is silent, while the others serve', async () => {
      const [first = '', second = ''] = await namespaces();
      // As clients do: on a slow machine one of its looks may fall into the silence, and time out as every call does.
      const wait = (retries: number): Promise<LeasedJob[]> =>
        engine
          .lease(first, { queues: ['w'], count: 1, ttrMs: 60_000, waitMs: 20_000 })
          .catch((error: unknown) => {
            if (retries === 0) throw error;
            expect(error).toMatchObject({ code: 'pool_unavailable' });
            return wait(retries - 1);
          });
      const waiting = wait(5);
      await waitFor(() => pool.read('HEXISTS', `{${first}}:waiting`, 'w'));
      const before = await connections(cluster.masters[1]!);
      expect(before.length).toBeGreaterThan(0);
      const since = performance.now();
      proxies[0]!.halfOpen();

      await expect(publish(first)).rejects.toMatchObject({ code: 'pool_unavailable' });
      await publish(second);
      expect(pool.status.up).toBe(true);
      await waitFor(() => publish(first), DETECTED_MS);
      expect(performance.now() - since).toBeLessThan(DETECTED_MS);
      // As another process does: by a wake-up, or by a check.
      const producer = new PoolEngine(pool);
      await producer.publish(first, 'w', newJob());
      expect(await waiting).toHaveLength(1);
      await producer.stop();
      expect(await connections(cluster.masters[1]!)).toEqual(before);
    });

    it('make the pool degraded if one does not answer, while the others serve at their usual speed', async () => {
      const [first = '', second = '', third = ''] = await namespaces();
      proxies[0]!.dropsReplies = true;
      await waitFor(() => pool.status.degraded.includes('node_down'), DETECTED_MS);

      expect(pool.status.up).toBe(true);
      const refused = Promise.allSettled([
        publish(first),
        engine.queues.size(first, 'q'),
        engine.ack(first, 'q', 'none'),
      ]);
      const served: number[] = [];
      for (let i = 0; i < 50; i++) {
        const time = new OwnTime();
        await publish(i % 2 === 0 ? second : third);
        served.push(time.end());
      }
      expect(served.sort((a, b) => a - b)[25]).toBeLessThan(100);
      for (const result of await refused)
        expect(result).toMatchObject({ reason: { code: 'pool_unavailable' } });
      await engine.publish(second, 'much-later', newJob({ delayMs: 600_000 }));
      const dues = [first, second].map((ns) => pool.keys.namespace(ns).due);
      expect(await pool.heads(dues)).toEqual([Number.NaN, expect.any(Number)]);
      // What is due elsewhere is moved all the same: the sweep does not wait for the one that is away.
      const dying = new PoolEngine(pool);
      await dying.publish(second, 'later', newJob({ delayMs: 100 }));
      expect(
        await engine.lease(second, { queues: ['later'], count: 1, ttrMs: 60_000, waitMs: 8_000 }),
      ).toHaveLength(1);

      proxies[0]!.dropsReplies = false;
      await waitFor(() => publish(first), DETECTED_MS);
      await waitFor(() => pool.status.degraded.length === 0, DETECTED_MS);
    });

    it('fail no lease request if one refuses connections for a moment: a request that it has not seen is sent again', async () => {
      const [first = ''] = await namespaces();
      await proxies[0]!.down();
      // What is sent before the end of the connection is seen may have run.
      await sleep(100);
      const reserving = engine.lease(first, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0 });
      await sleep(200);
      await proxies[0]!.up();

      expect(await reserving).toHaveLength(1);
    });

    it('fail no call that waits for the end of a slot move for less than its timeout', async () => {
      const ns = randomNamespace();
      for (let i = 0; i < 20; i++) await publish(ns);
      const move = await SlotMove.begin(cluster, `{${ns}}`);
      const keys = await move.keysAt(move.source);
      for (const key of keys.slice(0, keys.length / 2)) await move.moveKey(key);

      const calls = [publish(ns), engine.lease(ns, { queues: ['q'], count: 5, ttrMs: 60_000, waitMs: 0 })];
      for (const key of await move.keysAt(move.source)) await move.moveKey(key);
      await move.finish();

      expect(await Promise.all(calls)).toEqual([expect.any(String), expect.any(Array)]);
      expect((await engine.queues.counts(ns, ['q']))[0]).toMatchObject({ ready: 16, leased: 5 });
    });
  });
});

describe('tokens in a Cluster', () => {
  const LIMIT = { read: 5, write: 5, intervalS: 600 };
  const ORDERS: [string, (a: string, b: string) => number][] = [
    ['from the first to the last', (a, b) => (a < b ? -1 : 1)],
    ['from the last to the first', (a, b) => (a < b ? 1 : -1)],
  ];

  describe('the token store in a moving slot', () => {
    let cluster: TestCluster;
    let pools: RedisPool[];
    let store: TokenStore;
    /** Its changes are refused soon when the move holds them up. */
    let hasty: TokenStore;
    const keys = new TokenKeys('');
    beforeAll(async () => {
      cluster = await TestCluster.start();
      pools = await Promise.all(
        [5_000, 250].map((commandTimeoutMs) => {
          const options = {
            allowUnsafe: false,
            keyPrefix: '',
            commandTimeoutMs,
            clusterNodes: cluster.addresses,
          };
          return RedisPool.connect('tokens', options, silentLog);
        }),
      );
      [store, hasty] = pools.map((pool) => new TokenStore(pool)) as [TokenStore, TokenStore];
    });
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.close()));
      await cluster.stop();
    });

    const idOf = (namespace: string, token: string): TokenId => ({ pool: 'default', namespace, token });
    const digestOf = ({ pool: name, namespace, token }: TokenId): string =>
      tokenDigest(name, namespace, token);

    it.each(ORDERS)(
      'finds a valid token after each moved key, and applies changes completely or not at all: keys move %s',
      async (name, order) => {
        const ns = `ns-${name.replaceAll(' ', '-')}`;
        const kept = idOf(ns, await store.create(ns, 'default', 'kept'));
        const expiring = idOf(ns, await store.create(ns, 'default', 'expiring'));
        for (const id of [kept, expiring]) await store.setLimit(id, LIMIT, false);
        const isChanged = { created: false, deleted: false, limited: false };
        const trying = async (
          what: keyof typeof isChanged,
          change: () => Promise<unknown>,
        ): Promise<void> => {
          if (isChanged[what]) return;
          await change().then(
            () => (isChanged[what] = true),
            // Refused it may be, but then it has not been done in part: see below.
            (error: unknown) => expect(error).toMatchObject({ code: 'pool_unavailable' }),
          );
        };
        const move = await SlotMove.begin(cluster, keys.limited);
        let counted = 0;
        for (;;) {
          expect(await store.find(digestOf(kept))).toMatchObject({ description: 'kept' });
          if ((await store.count(digestOf(kept), 'read', LIMIT.read, LIMIT.intervalS)) > 0) counted++;
          await Promise.all([
            trying('created', () => hasty.create(ns, 'default', 'new', 'new-token')),
            trying('deleted', () => hasty.delete(expiring)),
            trying('limited', () => hasty.setLimit(kept, { ...LIMIT, read: 6 }, false)),
          ]);
          const [next] = (await move.keysAt(move.source)).sort((a, b) => order(a.toString(), b.toString()));
          if (!next) break;
          await move.moveKey(next);
        }
        await move.finish();

        const listed = (await new TokenInventory(pools[0]!).describeAll(ns, 'default')).map(
          ({ token }) => token,
        );
        const expected = [kept.token, ...(isChanged.deleted ? [] : [expiring.token])];
        expect(listed.sort()).toEqual([...expected, ...(isChanged.created ? ['new-token'] : [])].sort());
        for (const token of [kept.token, expiring.token, 'new-token']) {
          expect((await store.find(digestOf(idOf(ns, token)))) !== null).toBe(listed.includes(token));
        }
        expect(
          (await store.limits()).filter(({ namespace }) => namespace === ns).map(({ token }) => token),
        ).toEqual(expected.sort());
        // A limit that is set anew counts from zero; else none was counted beyond it.
        if (!isChanged.limited) expect(counted).toBeLessThanOrEqual(LIMIT.read);
        expect(counted).toBeGreaterThan(0);
      },
    );
  });
});

describe('long polls in a Cluster', () => {
  /** By a wake-up: who has none is served when it looks again, 850 ms after it came or looked last. */
  const AT_ONCE_MS = 400;

  describe('wake-ups in a Cluster', () => {
    let cluster: TestCluster;
    let pool: RedisPool;
    let engine: PoolEngine;
    /** As another process: a single waiter needs no wake-up for a job of its own engine. */
    let producer: PoolEngine;
    beforeAll(async () => {
      cluster = await TestCluster.start();
      const options = { allowUnsafe: false, keyPrefix: 'p:', commandTimeoutMs: 2_000 };
      pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
      engine = new PoolEngine(pool);
      producer = new PoolEngine(pool);
    });
    afterAll(async () => {
      await engine.stop();
      await producer.stop();
      await pool.close();
      await cluster.stop();
    });

    const wait = (ns: string, waitMs = 20_000): Promise<LeasedJob[]> =>
      engine.lease(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs });

    const subscribers = async (node: ClusterNode, ns: string): Promise<number> => {
      const [, count] = (await node.redis.call('PUBSUB', 'SHARDNUMSUB', `p:{${ns}}:wake`)) as [
        string,
        number,
      ];
      return count;
    };

    /** How long a waiter waits for a job that is published just after it has looked in vain. */
    async function wakeMs(ns: string): Promise<number> {
      const waiting = wait(ns);
      await waitFor(() => pool.read('HEXISTS', `p:{${ns}}:waiting`, 'q'));
      const time = new OwnTime();
      const id = await producer.publish(ns, 'q', newJob());
      expect((await waiting).map((job) => job.id)).toEqual([id]);
      return time.end();
    }

    /** Half of some tries, for a machine may be busy: without wake-ups none of them is quick. */
    async function usualWakeMs(ns: string): Promise<number> {
      const took: number[] = [];
      for (let i = 0; i < 5; i++) took.push(await wakeMs(ns));
      return took.sort((a, b) => a - b)[2]!;
    }

    it("are sent on the namespace's channel, at the node of its slot only", async () => {
      const ns = randomNamespace();
      const { owner, other } = await cluster.ownerOf(`{${ns}}`);
      const waiting = wait(ns);
      await waitFor(() => subscribers(owner, ns));

      expect(await subscribers(other, ns)).toBe(0);
      for (const { redis } of cluster.masters) expect(await redis.call('PUBSUB', 'CHANNELS')).toEqual([]);
      await producer.publish(ns, 'q', newJob());
      expect(await waiting).toHaveLength(1);
      expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
    });

    it('reach a long poll at once whose subscription is new', async () => {
      const took: number[] = [];
      for (let i = 0; i < 5; i++) {
        const ns = randomNamespace();
        await producer.publish(ns, 'other', newJob());
        const waiting = wait(ns);
        await waitFor(() => pool.read('HEXISTS', `p:{${ns}}:waiting`, 'q'));
        const time = new OwnTime();
        await producer.publish(ns, 'q', newJob());
        expect(await waiting).toHaveLength(1);
        took.push(time.end());
      }
      expect(took.sort((a, b) => a - b)[2]).toBeLessThan(AT_ONCE_MS);
    });

    it('reach long polls after their slot moved to another node and back', async () => {
      const ns = randomNamespace();
      const { owner, other } = await cluster.ownerOf(`{${ns}}`);
      const kept = wait(ns);
      await waitFor(() => subscribers(owner, ns));
      await (await SlotMove.begin(cluster, `{${ns}}`)).complete();

      await waitFor(() => subscribers(other, ns), 10_000);
      await producer.publish(ns, 'q', newJob());
      expect(await kept).toHaveLength(1);
      expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);

      await (await SlotMove.begin(cluster, `{${ns}}`)).complete();
      const back = (await cluster.ownerOf(`{${ns}}`)).owner;
      await waitFor(() => subscribers(back, ns), 10_000);
      expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
    });

    it('are received again after their connection was cut', async () => {
      const ns = randomNamespace();
      const { owner } = await cluster.ownerOf(`{${ns}}`);
      expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
      const waiting = wait(ns);
      expect(await owner.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')).toBe(1);
      await waitFor(() => subscribers(owner, ns), 10_000);

      await producer.publish(ns, 'q', newJob());
      expect(await waiting).toHaveLength(1);
      expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
    });

    it('take one connection to each node for any number of namespaces', async () => {
      const namespaces = Array.from({ length: 60 }, () => randomNamespace());
      const waits = namespaces.map((ns) => wait(ns, 8_000));
      for (const ns of namespaces) {
        const { owner } = await cluster.ownerOf(`{${ns}}`);
        await waitFor(() => subscribers(owner, ns), 5_000);
      }
      for (const { redis } of cluster.masters) {
        expect(
          String(await redis.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
            .trim()
            .split('\n'),
        ).toHaveLength(1);
      }
      await Promise.all(namespaces.map((ns) => producer.publish(ns, 'q', newJob())));
      for (const jobs of await Promise.all(waits)) expect(jobs).toHaveLength(1);
    });

    /** Wake-ups of a client of their own, which calls `onWake` for each. `lingerMs`: how long an unused subscription stays. */
    async function startWakeups(
      style: 'plain' | 'sharded',
      onWake: (namespace: string, queue: string | null) => unknown,
      lingerMs?: number,
    ): Promise<{ wakeups: ClusterWakeups; end: () => void }> {
      const options = {
        allowUnsafe: false,
        keyPrefix: 'p:',
        commandTimeoutMs: 2_000,
        clusterNodes: cluster.addresses,
      };
      const client = createClient(options) as Cluster;
      await client.connect();
      const calls = new Calls('default', 2_000, () => undefined);
      const keys = new Keys('p:');
      const losses = new LossDetector(keys, 'default', silentLog);
      const nodes = new ClusterNodes(client, calls, new RedisClock(), new LeaseFloor(keys), losses);
      const listeners = new Set([onWake]);
      const wakeups = new ClusterWakeups(client, nodes, calls, keys, style, listeners, lingerMs);
      const end = (): void => {
        wakeups.disconnect(false);
        client.disconnect();
      };
      return { wakeups, end };
    }

    it('have no subscription when no request waits, and have one again at the next request', async () => {
      const received: (string | null)[] = [];
      const { wakeups, end } = await startWakeups('sharded', (_ns, queue) => received.push(queue), 0);
      const ns = randomNamespace();
      const { owner } = await cluster.ownerOf(`{${ns}}`);
      wakeups.follow(ns);
      wakeups.follow(ns);
      wakeups.unfollow(ns);
      await wakeups.probe();
      await waitFor(() => received.length === 1);
      expect(await subscribers(owner, ns)).toBe(1);

      wakeups.unfollow(ns);
      await sleep(5);
      await wakeups.probe();
      await waitFor(async () => (await subscribers(owner, ns)) === 0);

      wakeups.follow(ns);
      await waitFor(() => subscribers(owner, ns));
      end();
    });

    it('are sent on one channel if the Cluster has no sharded channels', async () => {
      const received: string[] = [];
      const { wakeups, end } = await startWakeups('plain', (ns, queue) =>
        received.push(`${ns} ${queue ?? ''}`),
      );
      await wakeups.open();
      for (const round of ['one', 'two']) {
        await waitFor(async () => {
          await wakeups.probe();
          return cluster.masters[0]!.redis.publish('p:pumphouse:wake', `ns ${round}`).then(() =>
            received.includes(`ns ${round}`),
          );
        });
        for (const { redis } of cluster.masters) await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      }
      end();
    });
  });
});
