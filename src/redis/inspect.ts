import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolOptions } from '../domain/pool.js';
import { isCluster, type Client } from './connect.js';
import { checkFormat } from './format.js';
import type { Keys } from './keys.js';
import { parseInfo } from './parse-info.js';

/** The oldest Redis with all commands of the scripts (ZADD LT, LPOP with a count, EXISTS of many). */
const OLDEST_REDIS = [6, 2] as const;

/** The first Redis with sharded pub/sub. */
const SHARDED_SINCE = 7;
/** How long a node of a Cluster may take to answer INFO, in milliseconds. */
const NODE_MS = 500;
/** Problems of a store that is usable all the same. */
export interface StoreState {
  readonly degraded: readonly string[];
  /** True for a Cluster all of whose masters have SPUBLISH. */
  readonly hasShardedPubSub: boolean;
  /** Version of its data format. */
  readonly format: number;
}

/**
 * Checks that a store can hold jobs: its version, its data format, and whether it could silently lose jobs.
 *
 * @throws {NewerFormatError} its data format is newer than ours
 * @throws {Error} it cannot; with `allowUnsafe`, an eviction policy or a disabled AOF is reported instead
 */
export async function inspectStore(client: Client, options: PoolOptions, keys: Keys): Promise<StoreState> {
  const degraded = new Set<string>();
  let hasShardedPubSub = isCluster(client);
  for (const facts of await factsOf(client)) {
    const version = facts.get('redis_version') ?? '0.0';
    // The connection leads to a former master. In a Cluster, the slot map must be reloaded first.
    if (!isCluster(client) && facts.get('role') === 'slave') {
      throw new Error('this Redis is a replica, and takes no writes');
    }
    checkVersion(version);
    hasShardedPubSub &&= Number(version.split('.')[0]) >= SHARDED_SINCE;
    const policy = facts.get('maxmemory_policy') ?? 'noeviction';
    if (policy !== 'noeviction') degraded.add('maxmemory_policy');
    if (facts.get('aof_enabled') !== '1') degraded.add('aof_off');
    const max = Number(facts.get('maxmemory') ?? 0);
    if (max > 0 && Number(facts.get('used_memory') ?? 0) >= max) degraded.add('full');
    if (facts.get('aof_last_write_status') === 'err') degraded.add('disk');
  }
  if (!options.allowUnsafe && (degraded.has('maxmemory_policy') || degraded.has('aof_off'))) {
    throw new Error(
      'this Redis may lose jobs: it needs maxmemory-policy noeviction and appendonly yes (or set allow_unsafe for the pool)',
    );
  }
  const format = await checkFormat(client, keys);
  return { degraded: [...degraded], hasShardedPubSub, format };
}

/** INFO of each master. In a Cluster, masters that do not answer are skipped as long as another one answers. */
async function factsOf(client: Client): Promise<Map<string, string>[]> {
  if (!isCluster(client)) return [parseInfo(await client.info())];
  const answers = await Promise.allSettled(
    client.nodes('master').map((node) => within(NODE_MS, node.info())),
  );
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [parseInfo(answer.value)] : []));
  const [first] = answers;
  if (found.length === 0)
    throw first?.status === 'rejected' ? first.reason : new Error('the Cluster has no node');
  return found;
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = sleep(ms, undefined, { ref: false }).then(() =>
    Promise.reject(new Error('Connection is closed.')),
  );
  return Promise.race([work, late]);
}

function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])) {
    throw new Error(`Redis ${version} is too old: ${OLDEST_REDIS.join('.')} or newer is needed`);
  }
}
