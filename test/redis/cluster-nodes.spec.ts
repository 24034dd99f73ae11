import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueueEngine } from '../../src/engine/engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { SlotMove, TestCluster, type ClusterNode } from '../support/cluster.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { newJob, silentLog } from './fixture.js';

/** A silent node must be known for what it is within this; it takes about 3 s: a probe's pause and its time-out. */
const DETECTED_MS = 10_000;

describe('the nodes of a Cluster', () => {
  let cluster: TestCluster;
  let proxies: TcpProxy[];
  let pool: RedisPool;
  let engine: QueueEngine;
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
    engine = new QueueEngine(pool);
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
    return [...list.matchAll(/^id=(\d+) .* name=pumphouse /gm)].map(([, id = '']) => id);
  }

  it('are found out one by one when they are silent: a half-open socket is replaced, and no other is touched', async () => {
    const [first = '', second = ''] = await namespaces();
    const waiting = engine.reserve(first, { queues: ['w'], count: 1, ttrMs: 60_000, waitMs: 20_000 });
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
    await engine.publish(first, 'w', newJob());
    expect(await waiting).toHaveLength(1);
    expect(await connections(cluster.masters[1]!)).toEqual(before);
  });

  it('that are away make the pool degraded, and their slots refused in time; the others serve on at their usual pace', async () => {
    const [first = '', second = '', third = ''] = await namespaces();
    proxies[0]!.dropsReplies = true;
    await waitFor(() => pool.status.degraded.includes('node_down'), DETECTED_MS);

    expect(pool.status.up).toBe(true);
    const refused = Promise.allSettled([
      publish(first),
      engine.size(first, 'q'),
      engine.ack(first, 'q', 'none'),
    ]);
    const served: number[] = [];
    for (let i = 0; i < 50; i++) {
      const since = performance.now();
      await publish(i % 2 === 0 ? second : third);
      served.push(performance.now() - since);
    }
    expect(served.sort((a, b) => a - b)[25]).toBeLessThan(100);
    for (const result of await refused)
      expect(result).toMatchObject({ reason: { code: 'pool_unavailable' } });
    await engine.publish(second, 'much-later', newJob({ delayMs: 600_000 }));
    const dues = [first, second].map((ns) => pool.keys.namespace(ns).due);
    expect(await pool.heads(dues)).toEqual([Number.NaN, expect.any(Number)]);
    // What is due elsewhere is moved all the same: the sweep does not wait for the one that is away.
    const dying = new QueueEngine(pool);
    await dying.publish(second, 'later', newJob({ delayMs: 100 }));
    expect(
      await engine.reserve(second, { queues: ['later'], count: 1, ttrMs: 60_000, waitMs: 8_000 }),
    ).toHaveLength(1);

    proxies[0]!.dropsReplies = false;
    await waitFor(() => publish(first), DETECTED_MS);
    await waitFor(() => pool.status.degraded.length === 0, DETECTED_MS);
  });

  it('that refuse connections for a moment cost nobody a call: what no node has seen is tried again, a reserve too', async () => {
    const [first = ''] = await namespaces();
    await proxies[0]!.down();
    // What is sent before the end of the connection is seen may have run.
    await sleep(100);
    const reserving = engine.reserve(first, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0 });
    await sleep(200);
    await proxies[0]!.up();

    expect(await reserving).toHaveLength(1);
  });

  it('may hand over a slot while calls wait: what the move holds up for less than the time-out is served, not refused', async () => {
    const ns = randomNamespace();
    for (let i = 0; i < 20; i++) await publish(ns);
    const move = await SlotMove.begin(cluster, `{${ns}}`);
    const keys = await move.keysAt(move.source);
    for (const key of keys.slice(0, keys.length / 2)) await move.moveKey(key);

    const calls = [publish(ns), engine.reserve(ns, { queues: ['q'], count: 5, ttrMs: 60_000, waitMs: 0 })];
    for (const key of await move.keysAt(move.source)) await move.moveKey(key);
    await move.finish();

    expect(await Promise.all(calls)).toEqual([expect.any(String), expect.any(Array)]);
    expect((await engine.counts(ns, ['q']))[0]).toMatchObject({ ready: 16, leased: 5 });
  });
});
