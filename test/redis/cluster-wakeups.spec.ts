import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job.js';
import { QueueEngine } from '../../src/engine/engine.js';
import { Calls } from '../../src/redis/calls.js';
import { RedisClock } from '../../src/redis/clock.js';
import { ClusterNodes } from '../../src/redis/cluster/nodes.js';
import { ClusterWakeups } from '../../src/redis/cluster/wakeups.js';
import { createClient } from '../../src/redis/connect.js';
import { Keys } from '../../src/redis/keys.js';
import { RedisPool } from '../../src/redis/pool.js';
import { SlotMove, TestCluster, type ClusterNode } from '../support/cluster.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { newJob, silentLog } from './fixture.js';

/** By a wake-up: who has none is served when it looks again, 850 ms after it came or looked last. */
const AT_ONCE_MS = 400;

describe('wake-ups in a Cluster', () => {
  let cluster: TestCluster;
  let pool: RedisPool;
  let engine: QueueEngine;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    const options = { allowUnsafe: false, keyPrefix: 'p:', commandTimeoutMs: 2_000 };
    pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
    engine = new QueueEngine(pool);
  });
  afterAll(async () => {
    await engine.stop();
    await pool.close();
    await cluster.stop();
  });

  const wait = (ns: string, waitMs = 20_000): Promise<LeasedJob[]> =>
    engine.reserve(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs });

  const subscribers = async (node: ClusterNode, ns: string): Promise<number> => {
    const [, count] = (await node.redis.call('PUBSUB', 'SHARDNUMSUB', `p:{${ns}}:wake`)) as [string, number];
    return count;
  };

  /** How long a waiter waits for a job that is published just after it has looked in vain. */
  async function wakeMs(ns: string): Promise<number> {
    const waiting = wait(ns);
    await waitFor(() => pool.read('HEXISTS', `p:{${ns}}:waiting`, 'q'));
    const since = performance.now();
    const id = await engine.publish(ns, 'q', newJob());
    expect((await waiting).map((job) => job.id)).toEqual([id]);
    return performance.now() - since;
  }

  /** Half of some tries, for a machine may be busy: without wake-ups none of them is quick. */
  async function usualWakeMs(ns: string): Promise<number> {
    const took: number[] = [];
    for (let i = 0; i < 5; i++) took.push(await wakeMs(ns));
    return took.sort((a, b) => a - b)[2]!;
  }

  it("come on the namespace's own channel, at the node of its slot and nowhere else", async () => {
    const ns = randomNamespace();
    const { owner, other } = await cluster.ownerOf(`{${ns}}`);
    const waiting = wait(ns);
    await waitFor(() => subscribers(owner, ns));

    expect(await subscribers(other, ns)).toBe(0);
    for (const { redis } of cluster.masters) expect(await redis.call('PUBSUB', 'CHANNELS')).toEqual([]);
    await engine.publish(ns, 'q', newJob());
    expect(await waiting).toHaveLength(1);
    expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
  });

  it('make good what came before the channel was heard', async () => {
    const took: number[] = [];
    for (let i = 0; i < 5; i++) {
      const ns = randomNamespace();
      await engine.publish(ns, 'other', newJob());
      const waiting = wait(ns);
      await waitFor(() => pool.read('HEXISTS', `p:{${ns}}:waiting`, 'q'));
      const since = performance.now();
      await engine.publish(ns, 'q', newJob());
      expect(await waiting).toHaveLength(1);
      took.push(performance.now() - since);
    }
    expect(took.sort((a, b) => a - b)[2]).toBeLessThan(AT_ONCE_MS);
  });

  it('follow a slot to its new node, and back, under those who wait', async () => {
    const ns = randomNamespace();
    const { owner, other } = await cluster.ownerOf(`{${ns}}`);
    const kept = wait(ns);
    await waitFor(() => subscribers(owner, ns));
    await (await SlotMove.begin(cluster, `{${ns}}`)).complete();

    await waitFor(() => subscribers(other, ns), 10_000);
    await engine.publish(ns, 'q', newJob());
    expect(await kept).toHaveLength(1);
    expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);

    await (await SlotMove.begin(cluster, `{${ns}}`)).complete();
    const back = (await cluster.ownerOf(`{${ns}}`)).owner;
    await waitFor(() => subscribers(back, ns), 10_000);
    expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
  });

  it('are heard again when the connection that they came on was cut', async () => {
    const ns = randomNamespace();
    const { owner } = await cluster.ownerOf(`{${ns}}`);
    expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
    const waiting = wait(ns);
    expect(await owner.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')).toBe(1);
    await waitFor(() => subscribers(owner, ns), 10_000);

    await engine.publish(ns, 'q', newJob());
    expect(await waiting).toHaveLength(1);
    expect(await usualWakeMs(ns)).toBeLessThan(AT_ONCE_MS);
  });

  it('take one connection to each node, however many namespaces wait', async () => {
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
    await Promise.all(namespaces.map((ns) => engine.publish(ns, 'q', newJob())));
    for (const jobs of await Promise.all(waits)) expect(jobs).toHaveLength(1);
  });

  it('end when nobody has waited for a while, and begin again with the next one', async () => {
    const options = {
      allowUnsafe: false,
      keyPrefix: 'p:',
      commandTimeoutMs: 2_000,
      clusterNodes: cluster.addresses,
    };
    const client = createClient(options) as Cluster;
    await client.connect();
    const calls = new Calls('default', 2_000, () => undefined);
    const nodes = new ClusterNodes(client, calls, new RedisClock());
    const heard: (string | null)[] = [];
    const listeners = new Set([(_ns: string, queue: string | null): unknown => heard.push(queue)]);
    const wakeups = new ClusterWakeups(client, nodes, calls, new Keys('p:'), 'sharded', listeners, 0);
    const ns = randomNamespace();
    const { owner } = await cluster.ownerOf(`{${ns}}`);
    wakeups.follow(ns);
    wakeups.follow(ns);
    wakeups.unfollow(ns);
    await wakeups.probe();
    await waitFor(() => heard.length === 1);
    expect(await subscribers(owner, ns)).toBe(1);

    wakeups.unfollow(ns);
    await sleep(5);
    await wakeups.probe();
    await waitFor(async () => (await subscribers(owner, ns)) === 0);

    wakeups.follow(ns);
    await waitFor(() => subscribers(owner, ns));
    wakeups.disconnect(false);
    client.disconnect();
  });

  it('come on one channel for all where the Cluster has no sharded ones', async () => {
    const options = {
      allowUnsafe: false,
      keyPrefix: 'p:',
      commandTimeoutMs: 2_000,
      clusterNodes: cluster.addresses,
    };
    const client = createClient(options) as Cluster;
    await client.connect();
    const calls = new Calls('default', 2_000, () => undefined);
    const nodes = new ClusterNodes(client, calls, new RedisClock());
    const heard: string[] = [];
    const listeners = new Set([
      (ns: string, queue: string | null): unknown => heard.push(`${ns} ${queue ?? ''}`),
    ]);
    const wakeups = new ClusterWakeups(client, nodes, calls, new Keys('p:'), 'plain', listeners);
    await wakeups.open();
    for (const round of ['one', 'two']) {
      await waitFor(async () => {
        await wakeups.probe();
        return cluster.masters[0]!.redis.publish('p:pumphouse:wake', `ns ${round}`).then(() =>
          heard.includes(`ns ${round}`),
        );
      }, 10_000);
      for (const { redis } of cluster.masters) await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    }
    wakeups.disconnect(false);
    client.disconnect();
  });
});
