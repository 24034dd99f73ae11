import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { PoolOptions } from '../domain/pool.js';
import { MasterConnector, MasterFinder } from './sentinel.js';

/** A connection to a single Redis, a Sentinel group's master, or a Cluster. */
export type Client = Redis | Cluster;

export function isCluster(client: Client): client is Cluster {
  return client.isCluster;
}

/** The driver's options; replies in their RESP2 shapes, whatever the protocol. */
type DriverOptions = Omit<RedisOptions, 'replyMapping'> & { readonly replyMapping: 'legacy' };

/** What the first answers of a connection may take beyond the command timeout, in milliseconds. */
const GREETING_MS = 500;
/** How long a connection that we have ended may take to close, in milliseconds. */
const GOODBYE_MS = 500;

/** Pause before the n-th attempt to connect again, in milliseconds; spread, so that servers do not come all at once. */
function retryPauseMs(attempt: number): number {
  return Math.min(20 * 2 ** Math.min(attempt, 6), 1_000) * (0.75 + Math.random() / 2);
}

/**
 * The driver never sends a command twice: it would run a reserve again that Redis has run already. Our own deadline settles every
 * call, and what may be repeated is repeated by `RedisPool.run`.
 */
function baseOptions(options: PoolOptions): DriverOptions {
  return {
    // One reply format for every server: RESP3 nests what RESP2 gives flat (ZRANGE WITHSCORES), and 6.2 to 8 all speak RESP2.
    protocol: 2,
    replyMapping: 'legacy',
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    connectTimeout: Math.max(options.commandTimeoutMs, 1_000),
    // A dead peer does not say goodbye.
    disconnectTimeout: GOODBYE_MS,
    retryStrategy: retryPauseMs,
    // After a failover the old master answers READONLY, before Redis 7 in the midst of a script's error: the next connection finds the
    // new one. 1 = reconnect, resend nothing.
    reconnectOnError: ({ message }) => (/(?:^|-)READONLY\b/.test(message) ? 1 : false),
    connectionName: 'pumphouse',
    lazyConnect: true,
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
    ...(options.db === undefined ? {} : { db: options.db }),
    ...(isTls(options) ? { tls: { ...options.tls } } : {}),
  };
}

/** The driver knows `rediss:` in small letters only, and would take the rest for plain. */
function isTls({ url, tls }: PoolOptions): boolean {
  return tls !== undefined || (url !== undefined && /^rediss:/i.test(url));
}

/** Makes a connection that is not opened yet. */
export function createClient(
  options: PoolOptions,
  overrides: { readonly enableOfflineQueue?: boolean } = {},
): Client {
  const client = build(options, { ...baseOptions(options), ...overrides });
  if (client instanceof Redis) limitGreeting(client, options.commandTimeoutMs + GREETING_MS);
  return client;
}

/** The connections of one pool ask together. */
const finders = new WeakMap<PoolOptions, MasterFinder>();

function finderOf(options: PoolOptions): MasterFinder {
  const finder = finders.get(options) ?? new MasterFinder(options);
  finders.set(options, finder);
  return finder;
}

/** A Redis that hangs is connected to by the system alone: the driver would wait for its first answer for ever. */
function limitGreeting(client: Redis, withinMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  client.on('connect', () => {
    clearTimeout(timer);
    timer = setTimeout(() => client.disconnect(true), withinMs).unref();
  });
  for (const event of ['ready', 'close']) client.on(event, () => clearTimeout(timer));
}

function build(options: PoolOptions, base: DriverOptions): Client {
  if (options.clusterNodes) {
    const { lazyConnect, retryStrategy, enableOfflineQueue, ...redisOptions } = base;
    return new Cluster(
      options.clusterNodes.map(({ host, port }) => ({ host, port })),
      {
        redisOptions,
        enableOfflineQueue: enableOfflineQueue ?? false,
        lazyConnect: lazyConnect ?? true,
        // 0 = a command whose connection was lost is not sent again.
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 100,
        retryDelayOnTryAgain: 25,
        clusterRetryStrategy: retryStrategy ?? retryPauseMs,
      },
    );
  }
  if (options.sentinels) {
    const finder = finderOf(options);
    return new Redis({
      ...base,
      Connector: class extends MasterConnector {
        constructor() {
          super(finder, GOODBYE_MS, retryPauseMs);
        }
      },
    });
  }
  if (options.socketPath !== undefined) return new Redis({ ...base, path: options.socketPath });
  return new Redis(options.url ?? 'redis://127.0.0.1:6379', base);
}
