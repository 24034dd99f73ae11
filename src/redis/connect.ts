import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { DATA_FORMAT } from '../domain/data-format.js';
import { MAX_TIMER_MS } from '../domain/limits.js';
import type { NodeAddress, PoolOptions } from '../domain/pool.js';
import { MasterConnector, MasterFinder } from './sentinel.js';
import { type Admit, checkSetUp } from './set-up.js';

/** A connection to a single Redis, a Sentinel group's master, or a Cluster. */
export type Client = Redis | Cluster;

export function isCluster(client: Client): client is Cluster {
  return client.isCluster;
}

/** The driver's options. Replies have their RESP2 shapes, whatever the protocol. */
type DriverOptions = Omit<RedisOptions, 'replyMapping'> & { readonly replyMapping: 'legacy' };

/** Extra time for the first replies of a connection beyond the command timeout, in milliseconds. */
const GREETING_MS = 500;
/** How long closing a connection may take, in milliseconds. */
const GOODBYE_MS = 500;
/** How long a node may take to answer a question about it, in milliseconds. */
const PROBE_MS = 1_000;

/**
 * Pause before the n-th attempt to reconnect, in milliseconds; randomised, so that servers do not all connect at once.
 */
function retryPauseMs(attempt: number): number {
  return Math.min(20 * 2 ** Math.min(attempt, 6), 1_000) * (0.75 + Math.random() / 2);
}

/**
 * The driver never resends a command: it could run a lease script a second time. Our own deadline settles every call, and
 * `RedisPool.run` repeats the calls that may be repeated.
 */
function baseOptions(options: PoolOptions): DriverOptions {
  return {
    // One reply format for every server: RESP3 nests what RESP2 returns flat (ZRANGE WITHSCORES), and 6.2 to 8 all
    // support RESP2.
    protocol: 2,
    replyMapping: 'legacy',
    autoResendUnfulfilledCommands: /* guard: driver-never-resends */ false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    connectTimeout: Math.min(Math.max(options.commandTimeoutMs, 1_000), MAX_TIMER_MS),
    // A dead peer does not close its side.
    disconnectTimeout: GOODBYE_MS,
    retryStrategy: retryPauseMs,
    // After a failover the old master answers READONLY, before Redis 7 within a script's error: the next connection
    // finds the new master. 1 = reconnect, resend nothing.
    reconnectOnError: ({ message }) =>
      /(?:^|-)READONLY\b/.test(message) ? /* guard: replica-reconnected */ 1 : false,
    // Older servers are known by another one: see format.ts.
    connectionName: `pumphouse-${String(DATA_FORMAT)}`,
    // CLIENT SETINFO would need a right of its own, which no Redis before 7.2 knows.
    disableClientInfo: true,
    lazyConnect: true,
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
    ...(options.db === undefined ? {} : { db: options.db }),
    ...(isTls(options) ? { tls: { ...options.tls } } : {}),
  };
}

/** The driver knows `rediss:` in lower case only, and would use other spellings without TLS. */
export function isTls({ url, tls }: PoolOptions): boolean {
  return tls !== undefined || (url !== undefined && /^rediss:/i.test(url));
}

/**
 * Creates a connection without opening it. It becomes ready only if Redis accepts its set-up.
 *
 * @param admit further checks of each Redis that it is connected to
 */
export function createClient(
  options: PoolOptions,
  overrides: Pick<RedisOptions, 'enableOfflineQueue' | 'autoResubscribe'> = {},
  admit?: Admit,
): Client {
  const client = build(options, { ...baseOptions(options), ...overrides });
  if (client instanceof Cluster) client.on('+node', (node: Redis) => void checkSetUp(node, admit));
  else
    limitGreeting(
      checkSetUp(client, admit, true),
      Math.min(options.commandTimeoutMs + GREETING_MS, MAX_TIMER_MS),
    );
  return client;
}

/** Creates a connection to one node for a question, without opening it: it does not wait until the node is ready. */
export function createProbe(options: PoolOptions, { host, port }: NodeAddress): Redis {
  const probe = new Redis({
    ...baseOptions(options),
    ...{ host, port, enableReadyCheck: false, retryStrategy: () => null, commandTimeout: PROBE_MS },
    connectTimeout: PROBE_MS,
  });
  probe.on('error', () => undefined);
  return probe;
}

/** The connections of one pool share a finder. */
const finders = new WeakMap<PoolOptions, MasterFinder>();

function finderOf(options: PoolOptions): MasterFinder {
  const finder = finders.get(options) ?? new MasterFinder(options);
  finders.set(options, finder);
  return finder;
}

/**
 * Limits the time to the first reply. The system connects to a Redis that hangs, and the driver would wait for its
 * reply without limit.
 */
function limitGreeting(client: Redis, withinMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  client.on('connect', () => {
    clearTimeout(timer);
    timer = /* guard: silent-redis-reconnected */ setTimeout(() => client.disconnect(true), withinMs).unref();
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
        ...(options.natMap === undefined ? {} : { natMap: { ...options.natMap } }),
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
