import { Redis } from 'ioredis';
import { TestCluster } from './cluster.js';
import { startRedis, type TestStore, waitFor, WITHOUT_FUNCTIONS } from './redis.js';
import { SentinelGroup } from './sentinel.js';

/** What the specs of a run share as their Redis. */
export const TOPOLOGIES = ['standalone', 'sentinel', 'cluster', 'scripts'] as const;
export type TopologyName = (typeof TOPOLOGIES)[number];

/** A master that a busy machine keeps from answering is not to be replaced: specs have connections to it, in ms. */
const PATIENCE_MS = 60_000;

/** Running stores, all of them on this machine. */
export interface Topology {
  /** One for each Jest worker, emptied before each spec file; or one for all, which is never emptied. */
  readonly stores: readonly TestStore[];
  stop(): Promise<void>;
}

/**
 * Starts a standalone Redis with AOF for each Jest worker; or a master with two replicas and three sentinels; or a Cluster of three
 * masters with a replica each. `scripts`: the first without functions, as Redis 6.2 is.
 * @param workers how many Jest has
 */
export function startTopology(name: TopologyName, workers: number): Promise<Topology> {
  const start = {
    standalone: () => standalone(workers),
    sentinel,
    cluster,
    scripts: () => standalone(workers, WITHOUT_FUNCTIONS),
  }[name];
  return start();
}

async function standalone(workers: number, args: readonly string[] = []): Promise<Topology> {
  const all = await Promise.all(Array.from({ length: workers }, () => startRedis({ args })));
  return {
    stores: all.map(({ url }) => ({ target: { url }, urls: [url] })),
    stop: async () => {
      await Promise.all(all.map((redis) => redis.stop()));
    },
  };
}

async function sentinel(): Promise<Topology> {
  const [group, second] = await Promise.all([SentinelGroup.start(), startRedis()]);
  const admin = new Redis(second.url, { protocol: 2 });
  await admin.replicaof('127.0.0.1', group.master.port);
  await waitFor(async () => (await admin.info('replication')).includes('master_link_status:up'), 15_000);
  admin.disconnect();
  for (const { port } of group.addresses) await setPatience(port);
  return {
    stores: [{ target: { sentinels: group.addresses, masterName: 'mymaster' }, urls: [group.master.url] }],
    stop: async () => {
      await Promise.all([group.stop(), second.stop()]);
    },
  };
}

async function setPatience(port: number): Promise<void> {
  const sentinel = new Redis(port, '127.0.0.1', { protocol: 2 });
  await sentinel.call('SENTINEL', 'SET', 'mymaster', 'down-after-milliseconds', PATIENCE_MS);
  sentinel.disconnect();
}

async function cluster(): Promise<Topology> {
  const running = await TestCluster.start(3, 1, PATIENCE_MS);
  return {
    stores: [
      {
        target: { clusterNodes: running.addresses },
        urls: running.masters.map(({ server }) => server.url),
      },
    ],
    stop: () => running.stop(),
  };
}
