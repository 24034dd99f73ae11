import type { NodeAddress, PoolOptions, PoolTarget } from '../domain/pool.js';
import type { Config, PoolConfig } from './config.js';

/**
 * How to reach a pool of the configuration.
 *
 * @param embeddedSocket where the embedded Redis listens, for a pool whose url is `embedded`
 * @throws {Error} there is no such pool, or its embedded Redis has no socket
 */
export function poolOptions(name: string, config: Config, embeddedSocket?: string): PoolOptions {
  const pool = config.pools[name];
  if (!pool) throw new Error(`there is no pool ${name}`);
  return {
    ...target(name, pool, embeddedSocket),
    ...(pool.username === undefined ? {} : { username: pool.username }),
    ...(pool.password === undefined ? {} : { password: pool.password }),
    ...(pool.db === undefined ? {} : { db: pool.db }),
    allowUnsafe: pool.allow_unsafe,
    keyPrefix: config.redis.key_prefix,
    commandTimeoutMs: config.redis.command_timeout_ms,
  };
}

function target(name: string, pool: PoolConfig, embeddedSocket: string | undefined): PoolTarget {
  if (pool.cluster) return { clusterNodes: pool.cluster.map(toAddress) };
  if (pool.sentinels && pool.master_name !== undefined) {
    return {
      sentinels: pool.sentinels.map(toAddress),
      masterName: pool.master_name,
      ...(pool.sentinel_password === undefined ? {} : { sentinelPassword: pool.sentinel_password }),
    };
  }
  if (pool.url !== undefined && pool.url !== 'embedded') return { url: pool.url };
  if (embeddedSocket === undefined) throw new Error(`the embedded Redis of pool ${name} does not run`);
  return { socketPath: embeddedSocket };
}

function toAddress(node: string): NodeAddress {
  const colon = node.lastIndexOf(':');
  return { host: node.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(node.slice(colon + 1)) };
}
