import type { NodeAddress, PoolOptions, PoolTarget, PoolTls } from '../domain/pool.js';
import { EMBEDDED, parseAddress, parseMapping, REDIS_PORT } from './addresses.js';
import type { Config, RedisTarget } from './config.js';
import { readPemFiles } from './pem-files.js';
import { below } from './tree.js';

const SENTINEL_PORT = 26_379;

/**
 * Connection options of a pool.
 *
 * @param embeddedSocket socket of the pool's embedded Redis, if it has one
 * @throws {ConfigError} a file with a certificate or key cannot be read
 * @throws {Error} there is no such pool, or it is embedded and no socket is given: a bug of the caller, not a mistake
 *   of the operator
 */
export function poolOptions(name: string, config: Config, embeddedSocket?: string): PoolOptions {
  const pool = config.pools[name];
  if (!pool) throw new Error(`no pool has the name ${name}`);
  const { durability } = pool;
  const usual = { ...usage(pool, config), durability, waitTimeoutMs: config.redis.wait_timeout_ms };
  if (pool.url === EMBEDDED) {
    if (embeddedSocket === undefined) throw new Error(`the embedded Redis of pool ${name} has no socket`);
    return { ...usual, socketPath: embeddedSocket };
  }
  return { ...usual, ...target(pool, below('pools', name)) };
}

/** Connection options of the Redis of the tokens; undefined if it is the default pool's. */
export function tokenOptions(config: Config): PoolOptions | undefined {
  const { tokens } = config;
  const isSet = tokens.url !== undefined || tokens.sentinels !== undefined || tokens.cluster !== undefined;
  return isSet ? { ...usage(tokens, config), ...target(tokens, 'tokens') } : undefined;
}

function usage(
  { allow_unsafe: allowUnsafe }: RedisTarget,
  { redis }: Config,
): Omit<PoolOptions, keyof PoolTarget> {
  return { allowUnsafe, keyPrefix: redis.key_prefix, commandTimeoutMs: redis.command_timeout_ms };
}

function target(from: RedisTarget, path: string): PoolTarget {
  const { tls_ca, tls_cert, tls_key } = from;
  const pem = readPemFiles(path, { tls_ca, tls_cert, tls_key });
  const isTls = Object.keys(pem).length > 0;
  return given({
    tls: isTls ? pemGiven({ ca: pem.tls_ca, cert: pem.tls_cert, key: pem.tls_key }) : undefined,
    url: from.url,
    sentinels: from.sentinels?.map((text) => addressOf(text, SENTINEL_PORT)),
    masterName: from.master_name,
    sentinelPassword: from.sentinel_password,
    clusterNodes: from.cluster?.map((text) => addressOf(text, REDIS_PORT)),
    natMap: from.nat_map && Object.fromEntries(from.nat_map.map(mappingOf)),
    username: from.username,
    password: from.password,
    db: from.db,
  });
}

/** Omits undefined values. */
function given(all: { readonly [Key in keyof PoolTarget]?: PoolTarget[Key] | undefined }): PoolTarget {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function pemGiven(all: { readonly [Key in keyof PoolTls]?: PoolTls[Key] | undefined }): PoolTls {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** The announced address as `host:port`, as the driver writes it, and the reachable one. */
function mappingOf(text: string): [announced: string, reachable: NodeAddress] {
  const mapping = parseMapping(text, REDIS_PORT);
  if (!mapping) throw new Error('a mapping that was checked at start cannot be read');
  const { announced, reachable } = mapping;
  return [`${announced.host}:${String(announced.port)}`, reachable];
}

function addressOf(text: string, defaultPort: number): NodeAddress {
  const address = parseAddress(text, defaultPort);
  if (!address) throw new Error('an address that was checked at start cannot be read');
  return address;
}
