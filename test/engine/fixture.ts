import type { Log } from '../../src/domain/log.js';
import type { LeasedJob, NewJob, QueueCounts, LeaseRequest } from '../../src/domain/job/job.js';
import type { PoolOptions } from '../../src/domain/pool.js';
import type { JobDetails, NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { RetryPolicy } from '../../src/domain/job/extended-job.js';
import { PoolEngine, type EngineOptions } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { Redis } from 'ioredis';
import type { StoreOfOwn } from '../support/app.js';
import { randomNamespace, startRedis, testKeys, testRedisUrl, testTarget } from '../support/redis.js';
import { Audit } from './audit.js';

const ignore = (): void => undefined;
export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Options of a pool on the tests' store, or on the one whose url is given. */
export function testPoolOptions(overrides: Partial<PoolOptions> = {}): PoolOptions {
  const target = overrides.url === undefined ? testTarget() : {};
  return { ...target, allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 8_000, ...overrides };
}

export const AT_ONCE: RetryPolicy = { kind: 'fixed', delayMs: 0 };

/** An extended job, as far as it matters to a test. */
export type ExtendedJob = Partial<NewExtendedJob> & { readonly text?: string };

/** An engine on the tests' Redis, in a namespace of its own. */
export class EngineFixture {
  readonly ns = randomNamespace();
  /** The test clock, Unix ms; used once `withClock` made the engine. */
  nowMs = Date.now();
  private store: StoreOfOwn | undefined;
  /** See `publishFromOtherEngine`. */
  private other: PoolEngine | undefined;

  private constructor(
    readonly pool: RedisPool,
    readonly engine: PoolEngine,
    private readonly clock?: () => number,
  ) {}

  static async open(options: EngineOptions = {}, pool: Partial<PoolOptions> = {}): Promise<EngineFixture> {
    const opened = await RedisPool.connect('default', testPoolOptions(pool), silentLog);
    const fixture = new EngineFixture(opened, new PoolEngine(opened, options), options.clock);
    // Servers of other specs look at all that is on the list which they share, and would move by Redis's clock what stands still here.
    if (options.clock)
      Object.defineProperty(opened.keys, 'namespaces', { value: `pumphouse:namespaces:${fixture.ns}` });
    return fixture;
  }

  /** On a Redis that no other spec has, with a connection to it. All of it ends with the fixture. */
  static async alone(args: readonly string[] = []): Promise<StoreOfOwn & { readonly f: EngineFixture }> {
    const redis = await startRedis({ args });
    const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    const f = await EngineFixture.open({}, { url: redis.url });
    f.store = { redis, client };
    return { redis, client, f };
  }

  /** On a pool that is open already, and closed with it. */
  static over(pool: RedisPool): EngineFixture {
    return new EngineFixture(pool, new PoolEngine(pool));
  }

  /** An engine whose time moves only when `nowMs` is changed. */
  static async withClock(
    options: EngineOptions = {},
    pool: Partial<PoolOptions> = {},
  ): Promise<EngineFixture> {
    const holder: { fixture?: EngineFixture } = {};
    const clock = (): number => holder.fixture?.nowMs ?? Date.now();
    holder.fixture = await EngineFixture.open({ ...options, clock }, pool);
    return holder.fixture;
  }

  /** Problems with the raw keys of the namespace; empty = all is well. */
  async audit(): Promise<string[]> {
    const redis = new Redis(this.store?.redis.url ?? testRedisUrl(), { protocol: 2 });
    try {
      return await Audit.of(redis, this.ns);
    } finally {
      redis.disconnect();
    }
  }

  async close(): Promise<void> {
    await this.other?.stop();
    await this.engine.stop();
    await this.pool.close();
    this.store?.client.disconnect();
    await this.store?.redis.stop();
  }

  publish(queue: string, job: Partial<NewJob> & { text?: string } = {}): Promise<string> {
    const { text, ...rest } = job;
    return this.engine.publish(
      this.ns,
      queue,
      newJob({ ...(text === undefined ? {} : { body: Buffer.from(text) }), ...rest }),
    );
  }

  /**
   * Publishes as another process does. A waiter of `engine` gets the job by a wake-up, or by the check within a second;
   * a publish by `engine` itself needs neither.
   */
  publishFromOtherEngine(queue: string, job: Partial<NewJob> = {}): Promise<string> {
    this.other ??= new PoolEngine(this.pool, this.clock && { clock: this.clock });
    return this.other.publish(this.ns, queue, newJob(job));
  }

  lease(queue: string, request: Partial<LeaseRequest> = {}): Promise<LeasedJob[]> {
    return this.engine.lease(this.ns, { queues: [queue], count: 1, ttrMs: 60_000, waitMs: 0, ...request });
  }

  /** The bodies of up to 100 jobs leased now. */
  async drain(queue: string): Promise<string[]> {
    return (await this.lease(queue, { count: 100 })).map((job) => job.body.toString());
  }

  size(queue: string): Promise<number> {
    return this.engine.queues.size(this.ns, queue);
  }

  async counts(queue = 'q'): Promise<QueueCounts | undefined> {
    return (await this.engine.queues.counts(this.ns, [queue]))[0];
  }

  /**
   * Publishes an extended job: as the native API does if it has a type, else by the extended script. Unless it has
   * another policy it is tried again at once. @returns its id
   */
  async put(queue: string, { text = 'x', ...job }: ExtendedJob = {}): Promise<string> {
    const extended = { queue, body: Buffer.from(text), retry: AT_ONCE, ...job };
    const { jobs, components } = this.engine;
    const publisher = job.type === undefined ? components.extendedPublisher : jobs;
    const [published] = await publisher.publish(this.ns, [extended]);
    return published?.id ?? '';
  }

  find(id: string): Promise<JobDetails | null> {
    return this.engine.jobs.find(this.ns, id);
  }

  /** Lets time pass under a test's clock, and what is due come. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    await this.engine.pumpNow(this.ns);
  }

  /** Every key of the namespace. */
  async keys(): Promise<string[]> {
    const pattern = `{${this.ns}}*`;
    // A Cluster would ask any of its nodes.
    if (this.pool.options.clusterNodes) return testKeys(pattern);
    return ((await this.pool.read('KEYS', pattern)) as string[]).sort();
  }

  /** All that is stored for the namespace, by key. */
  async stored(without?: RegExp): Promise<Record<string, unknown>> {
    const keys = (await this.keys()).filter((key) => without?.test(key) !== true);
    const dumps = await Promise.all(keys.map((key) => this.pool.read('DUMP', key)));
    return Object.fromEntries(keys.map((key, i): [string, unknown] => [key, dumps[i]]));
  }
}

export function newJob(job: Partial<NewJob> = {}): NewJob {
  return { body: Buffer.from('body'), delayMs: 0, ttlMs: 0, tries: 1, ...job };
}
