import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { NodeAddress } from '../../src/domain/pool.js';
import { freePort, startRedis, waitFor, type RedisProcess } from './redis.js';
import { TcpProxy } from './tcp-proxy.js';

const SLOTS = 16_384;

/** First and last slot, then its nodes, the owner first, as host, port, id. */
type SlotRange = [number, number, [string, number, string]];

/** One node of a test's Cluster, with a connection of its own that follows no redirection. */
export interface ClusterNode {
  readonly id: string;
  readonly redis: Redis;
  readonly args: readonly string[];
  /** Another one after a restart. */
  server: RedisProcess;
}

/** A Redis Cluster of local processes: masters, and as many replicas as asked for. */
export class TestCluster {
  /** @param masters in the order of their slots at the start */
  private constructor(
    readonly masters: readonly ClusterNode[],
    readonly replicas: readonly ClusterNode[],
  ) {}

  /**
   * Starts the nodes, gives each master an equal part of the slots, and waits until all of them know it.
   *
   * @param replicas of each master
   * @param timeoutMs after which a node that does not answer is given up by the others
   * @param args further arguments of each master
   */
  static async start(
    size = 3,
    replicas = 0,
    timeoutMs = 2_000,
    args: readonly string[] = [],
  ): Promise<TestCluster> {
    const nodes = await Promise.all(Array.from({ length: size }, () => startNode(timeoutMs, args)));
    const [first] = nodes;
    if (!first) throw new Error('a cluster has nodes');
    for (const [i, { redis }] of nodes.entries()) {
      await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      const [from, to] = [Math.floor((i * SLOTS) / size), Math.floor(((i + 1) * SLOTS) / size) - 1];
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
      if (i > 0) await redis.call('CLUSTER', 'MEET', '127.0.0.1', first.server.port, first.busPort);
    }
    for (const { redis } of nodes) {
      await waitFor(
        async () => /cluster_state:ok[^]*cluster_size:3/.test(await redis.cluster('INFO')),
        10_000,
      );
    }
    const followers = nodes.flatMap((master) => Array<ClusterNode>(replicas).fill(master));
    return new TestCluster(
      nodes,
      await Promise.all(followers.map((master) => startReplica(master, first, timeoutMs))),
    );
  }

  get nodes(): readonly ClusterNode[] {
    return [...this.masters, ...this.replicas];
  }

  get addresses(): NodeAddress[] {
    return this.nodes.map(({ server }) => ({ host: '127.0.0.1', port: server.port }));
  }

  /** Ends a node at once, as a crash would. */
  async kill(node: ClusterNode): Promise<void> {
    await node.server.kill9();
    await waitFor(() => node.redis.status !== 'ready');
  }

  /** Starts a node again that was killed, and waits until the Cluster is whole. */
  async restart(node: ClusterNode): Promise<void> {
    const { port, dir } = node.server;
    node.server = await startRedis({ args: node.args, port, dir });
    await this.whole();
  }

  /** Waits until every node thinks that all slots are served, and every replica is in step. */
  async whole(withinMs = 20_000): Promise<void> {
    for (const { redis } of this.nodes) {
      await waitFor(async () => {
        const isServed = (await redis.cluster('INFO')).includes('cluster_state:ok');
        return isServed && !(await redis.info('replication')).includes('master_link_status:down');
      }, withinMs);
    }
  }

  /** The node that owns the slot of `key` now, and another one that has slots. */
  async ownerOf(key: string): Promise<{ slot: number; owner: ClusterNode; other: ClusterNode }> {
    const [first] = await this.acting();
    const slot = await first!.redis.cluster('KEYSLOT', key);
    const ranges = (await first!.redis.call('CLUSTER', 'SLOTS')) as SlotRange[];
    const nodes = ranges.map(([from, to, [, , id]]) => ({
      from,
      to,
      node: this.nodes.find((one) => one.id === id)!,
    }));
    const owner = nodes.find(({ from, to }) => from <= slot && slot <= to)!.node;
    return { slot, owner, other: nodes.find(({ node }) => node !== owner)!.node };
  }

  /** Tells every master, the new owner first, whose slot it is. */
  async assign(slot: number, owner: ClusterNode): Promise<void> {
    for (const { redis } of [owner, ...(await this.acting()).filter((node) => node !== owner)]) {
      await redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', owner.id);
    }
  }

  /** The nodes that live and are masters now. */
  private async acting(): Promise<ClusterNode[]> {
    const living = this.nodes.filter(({ redis }) => redis.status === 'ready');
    const roles = await Promise.all(living.map(async ({ redis }) => (await redis.role())[0]));
    return living.filter((_, i) => roles[i] === 'master');
  }

  /** Puts a proxy before a node, and waits until the Cluster sends clients there. Servers that are connected find out by themselves. */
  async proxy(node: ClusterNode): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(node.server.port);
    await this.announce(node, { host: '127.0.0.1', port: Number(new URL(proxy.url).port) });
    return proxy;
  }

  /** Lets a node announce another address to clients, and waits until all masters tell it. */
  async announce(node: ClusterNode, { host, port }: NodeAddress): Promise<void> {
    await node.redis.config('SET', 'cluster-announce-ip', host);
    await node.redis.config('SET', 'cluster-announce-port', port);
    const shown = `${host}:${String(port)}@`;
    for (const { redis } of this.masters)
      await waitFor(async () => String(await redis.cluster('NODES')).includes(shown), 15_000);
  }

  async stop(): Promise<void> {
    for (const { redis } of this.nodes) redis.disconnect();
    await Promise.all(this.nodes.map(({ server }) => server.stop()));
    for (const { server } of this.nodes) rmSync(server.dir, { recursive: true, force: true });
  }
}

/** A slot on its way from one node to another, its keys moved one at a time. */
export class SlotMove {
  private constructor(
    private readonly cluster: TestCluster,
    readonly slot: number,
    readonly source: ClusterNode,
    readonly target: ClusterNode,
  ) {}

  /** Begins to move the slot of `key`; no key is moved yet. */
  static async begin(cluster: TestCluster, key: string): Promise<SlotMove> {
    const { slot, owner, other } = await cluster.ownerOf(key);
    await other.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', owner.id);
    await owner.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', other.id);
    return new SlotMove(cluster, slot, owner, other);
  }

  /** The keys of the slot that a node holds. */
  async keysAt(node: ClusterNode): Promise<Buffer[]> {
    const keys = await node.redis.callBuffer('CLUSTER', 'GETKEYSINSLOT', this.slot, 10_000);
    return keys as Buffer[];
  }

  /** Moves one key; fails if the target has it too. */
  moveKey(key: Buffer): Promise<void> {
    return this.moveKeys([key]);
  }

  /** Moves keys in one step. */
  async moveKeys(keys: readonly Buffer[]): Promise<void> {
    await this.source.redis.call(
      'MIGRATE',
      '127.0.0.1',
      this.target.server.port,
      '',
      0,
      5_000,
      'KEYS',
      ...keys,
    );
  }

  /** Moves all keys that are there, so many in one step, with those that come meanwhile, and ends the move. */
  async complete(step = 1): Promise<void> {
    for (let keys = await this.keysAt(this.source); keys.length > 0; keys = await this.keysAt(this.source)) {
      for (let i = 0; i < keys.length; i += step) await this.moveKeys(keys.slice(i, i + step));
    }
    await this.finish();
  }

  /** Gives the slot to its new node; the source holds no key of it any more. */
  async finish(): Promise<void> {
    await this.cluster.assign(this.slot, this.target);
  }
}

/** A replica of `master`, in step with it and known to all. */
async function startReplica(
  master: ClusterNode,
  first: ClusterNode & { busPort: number },
  timeoutMs: number,
): Promise<ClusterNode> {
  const node = await startNode(timeoutMs);
  await node.redis.call('CLUSTER', 'MEET', '127.0.0.1', first.server.port, first.busPort);
  // It must have heard of its master before it can follow it.
  await waitFor(() => node.redis.call('CLUSTER', 'REPLICATE', master.id), 15_000);
  await waitFor(async () => (await node.redis.info('replication')).includes('master_link_status:up'), 15_000);
  await waitFor(
    async () => String(await first.redis.call('CLUSTER', 'REPLICAS', master.id)).includes(node.id),
    15_000,
  );
  return node;
}

async function startNode(
  timeoutMs: number,
  more: readonly string[] = [],
): Promise<ClusterNode & { busPort: number }> {
  const busPort = await freePort();
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-node-timeout',
    String(timeoutMs),
    ...more,
  ];
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-cluster-'));
  const server = await startRedis({ args, dir });
  const redis = new Redis(server.port, '127.0.0.1', { protocol: 2 });
  redis.on('error', () => undefined);
  return { id: await redis.cluster('MYID'), redis, server, args, busPort };
}
