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
  /** Slots that are not where they were at the start, and who has them. */
  private readonly moved = new Map<number, ClusterNode>();

  /** @param masters in the order of their slots at the start */
  private constructor(
    readonly masters: readonly ClusterNode[],
    readonly replicas: readonly ClusterNode[],
  ) {}

  /**
   * Starts the nodes, gives each master an equal part of the slots, and waits until all of them know it.
   *
   * @param replicas of each master
   */
  static async start(size = 3, replicas = 0): Promise<TestCluster> {
    const nodes = await Promise.all(Array.from({ length: size }, startNode));
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
    return new TestCluster(nodes, await Promise.all(followers.map((master) => startReplica(master, first))));
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
  }

  /** Starts a node again that was killed, and waits until the Cluster is whole. */
  async restart(node: ClusterNode): Promise<void> {
    const { port, dir } = node.server;
    node.server = await startRedis({ args: node.args, port, dir });
    for (const { redis } of this.nodes) {
      await waitFor(async () => (await redis.cluster('INFO')).includes('cluster_state:ok'), 15_000);
    }
  }

  /** The node that owns the slot of `key`, and another one. */
  async ownerOf(key: string): Promise<{ slot: number; owner: ClusterNode; other: ClusterNode }> {
    const slot = await this.nodes[0]!.redis.cluster('KEYSLOT', key);
    const { masters } = this;
    const first = masters.find((_, i) => slot < Math.floor(((i + 1) * SLOTS) / masters.length));
    const owner = this.moved.get(slot) ?? first!;
    return { slot, owner, other: masters.find((node) => node !== owner)! };
  }

  /** Tells every node, the new owner first, whose slot it is. */
  async assign(slot: number, owner: ClusterNode): Promise<void> {
    for (const { redis } of [owner, ...this.masters.filter((node) => node !== owner)]) {
      await redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', owner.id);
    }
    this.moved.set(slot, owner);
  }

  /** Who owns a slot, in the eyes of a node that lives. */
  async ownerNow(slot: number): Promise<ClusterNode | undefined> {
    for (const node of this.nodes.filter(({ redis }) => redis.status === 'ready')) {
      const ranges = (await node.redis.call('CLUSTER', 'SLOTS').catch(() => null)) as SlotRange[] | null;
      const owner = ranges?.find(([from, to]) => from <= slot && slot <= to)?.[2];
      if (owner) return this.nodes.find(({ id }) => id === owner[2]);
    }
    return undefined;
  }

  /** Puts a proxy before a node, and waits until the Cluster sends clients there. Servers that are connected find out by themselves. */
  async proxy(node: ClusterNode): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(node.server.port);
    const { port } = new URL(proxy.url);
    await node.redis.config('SET', 'cluster-announce-port', port);
    for (const { redis } of this.masters) {
      await waitFor(async () => String(await redis.cluster('NODES')).includes(`127.0.0.1:${port}@`), 15_000);
    }
    return proxy;
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
): Promise<ClusterNode> {
  const node = await startNode();
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

async function startNode(): Promise<ClusterNode & { busPort: number }> {
  const busPort = await freePort();
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-node-timeout',
    '2000',
  ];
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-cluster-'));
  const server = await startRedis({ args, dir });
  const redis = new Redis(server.port, '127.0.0.1', { protocol: 2 });
  redis.on('error', () => undefined);
  return { id: await redis.cluster('MYID'), redis, server, args, busPort };
}
