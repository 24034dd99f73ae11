import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Redis } from 'ioredis';
import type { NodeAddress, PoolTarget } from '../../src/domain/pool.js';
import { SLOWNESS } from './scale.js';

const SLOTS = 16_384;

export { freePort } from '../../scripts/setup/free-port.mjs';
export { startRedis, withoutWaitAof } from './redis-process.mjs';
export type { RedisProcess, RedisProcessOptions } from './redis-process.mjs';

/** Arguments of a Redis without functions, as before version 7: servers send their scripts by EVALSHA. */
export const WITHOUT_FUNCTIONS = ['--rename-command', 'FCALL', '', '--rename-command', 'FUNCTION', ''];

/** A store for specs. */
export interface TestStore {
  /** How servers connect to it. */
  readonly target: PoolTarget;
  /** Its masters; of a Cluster in the order of their slots. */
  readonly urls: readonly string[];
}

/** The stores of this run: one for each Jest worker, or one for all. */
function testStores(): readonly TestStore[] {
  const stores = process.env['PUMPHOUSE_TEST_STORES'];
  if (stores === undefined) throw new Error('PUMPHOUSE_TEST_STORES is not set: did the global set-up run?');
  return JSON.parse(stores) as TestStore[];
}

function testStore(): TestStore {
  const stores = testStores();
  return stores[(Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % stores.length]!;
}

/** Masters of the store of this spec file; one, but in a Cluster. */
export function testRedisUrls(): readonly string[] {
  return testStore().urls;
}

/** Removes what earlier spec files left, if no other Jest worker uses the store. */
export async function emptyTestStore(): Promise<void> {
  if (testStores().length === 1) return;
  const redis = new Redis(testRedisUrl(), { protocol: 2 });
  await redis.flushall();
  redis.disconnect();
}

/** In a Cluster, the master that has all namespaces of this spec file: another one for another file, by chance. */
const mine = Math.floor(Math.random() * 1_000);

/**
 * The Redis in which this spec's namespaces are, for a connection of its own. Keep to a random namespace in it; never FLUSHALL. For a
 * server, take `testTarget`.
 */
export function testRedisUrl(): string {
  const urls = testRedisUrls();
  return urls[mine % urls.length]!;
}

/** How a server reaches the store of this spec file: a standalone Redis, a Sentinel group or a Cluster. */
export function testTarget(): PoolTarget {
  return testStore().target;
}

/** The same as settings of the default pool, in the form of the environment. */
export function testTargetEnv(): Record<string, string> {
  const { url, sentinels, masterName, clusterNodes } = testTarget();
  const list = (nodes: readonly NodeAddress[]): string =>
    nodes.map(({ host, port }) => `${host}:${String(port)}`).join(',');
  return {
    ...(url && { PUMPHOUSE_POOLS__DEFAULT__URL: url }),
    ...(sentinels && { PUMPHOUSE_POOLS__DEFAULT__SENTINELS: list(sentinels) }),
    ...(masterName && { PUMPHOUSE_POOLS__DEFAULT__MASTER_NAME: masterName }),
    ...(clusterNodes && { PUMPHOUSE_POOLS__DEFAULT__CLUSTER: list(clusterNodes) }),
  };
}

/** Every key that fits a pattern, on all masters, sorted. */
export async function testKeys(pattern: string): Promise<string[]> {
  const found = await Promise.all(
    testRedisUrls().map(async (url) => {
      const redis = new Redis(url, { protocol: 2 });
      return redis.keys(pattern).finally(() => redis.disconnect());
    }),
  );
  return found.flat().sort();
}

/** A namespace (or key prefix, or pool name) that no other test uses. In a Cluster, all those of a spec file are on one master. */
export function randomNamespace(prefix = 'ns'): string {
  for (;;) {
    const name = `${prefix}-${randomBytes(6).toString('hex')}`;
    if (masterOf(name) === mine % masters()) return name;
  }
}

/** Specs with stores of their own need no shared one. */
function masters(): number {
  return process.env['PUMPHOUSE_TEST_STORES'] === undefined ? 1 : testRedisUrls().length;
}

/** Masters have equal parts of the slots, in order: the n-th one ends before `floor((n + 1) × slots / masters)`. */
function masterOf(namespace: string): number {
  return Math.ceil(((slotOf(namespace) + 1) * masters()) / SLOTS) - 1;
}

/** A namespace's slot in a Cluster. */
export function slotOf(namespace: string): number {
  return new Command('get', [`{${namespace}}`]).getSlot();
}

/** On a busy machine a process may get no CPU for seconds. What comes in time takes no longer for it. */
const PATIENCE_MS = 60_000;

/**
 * Asks again until `probe` answers something truthy, and returns that answer. A probe that throws counts
 * as "not yet"; its last error is the cause of the failure.
 *
 * @param usualMs how long, on a machine of usual speed
 * @param pauseMs between two probes
 */
export async function waitFor<T>(
  probe: () => T | Promise<T>,
  usualMs = 2_000,
  pauseMs = 10,
): Promise<NonNullable<T>> {
  const withinMs = Math.max(PATIENCE_MS, Math.ceil(usualMs * SLOWNESS));
  const until = Date.now() + withinMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await probe();
      if (answer) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > until) throw new Error(`not so within ${withinMs} ms`, { cause });
    await sleep(pauseMs);
  }
}
