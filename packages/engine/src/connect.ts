import {
  checkNames,
  type EventOptions,
  type Logger,
  type PlacedEvent,
  Producer,
  PumphouseError,
  Worker,
  type WorkerOptions,
} from '@pumphouse/client';
import type { Durability } from '#src/domain/durability';
import type { Log } from '#src/domain/log';
import type { PoolTarget } from '#src/domain/pool';
import { type EngineOptions, PoolEngine } from '#src/engine/pool-engine';
import { RedisPool } from '#src/redis/pool';
import { call } from './calls.js';
import { EngineDeadLetter } from './dead-letter.js';
import { EngineDriver } from './engine-driver.js';
import { eventsOf } from './events.js';
import { EngineJobs } from './jobs.js';
import { EngineOperations } from './operations.js';
import { EngineQueues } from './queues.js';
import { EngineRecurring } from './recurring.js';
import { EngineStats } from './stats.js';
import { EngineVariables } from './variables.js';
import { EngineWorkers } from './workers.js';

export interface ConnectOptions {
  /** `redis://[user:password@]host:port[/db]`; or Sentinels, or nodes of a Cluster. */
  readonly redis: string | PoolTarget;
  readonly namespace: string;
  /** Prefix of every key; none if it is left out. Servers on the same Redis must have the same one. */
  readonly keyPrefix?: string;
  /** Allows a Redis that may lose jobs: with an eviction policy, or without AOF. */
  readonly allowUnsafe?: boolean;
  /** A call that Redis does not answer fails after this time; 2,000. */
  readonly commandTimeoutMs?: number;
  /** Durability of publishes that name none; `memory`. */
  readonly durability?: Durability;
  /** Quotas, an observer and so on. */
  readonly engine?: EngineOptions;
  /** Where the connection reports; the workers have `WorkerOptions.logger`. */
  readonly logger?: Logger;
}

const OPTIONS: Readonly<Record<keyof ConnectOptions, true>> = {
  ...{ redis: true, namespace: true, keyPrefix: true, allowUnsafe: true, commandTimeoutMs: true },
  ...{ durability: true, engine: true, logger: true },
};
const COMMAND_TIMEOUT_MS = 2_000;
const POOL = 'default';

/**
 * Connects to Redis, and starts the loops that move due jobs and remove expired data: no server is needed.
 *
 * @throws {TypeError} `redis` is no URL of a Redis, or an option does not exist
 * @throws {PumphouseError} `pool_unavailable`: Redis cannot be reached within ten seconds
 * @throws {Error} it is too old, or it may lose jobs and `allowUnsafe` is not set
 */
export async function connect(options: ConnectOptions): Promise<EnginePumphouse> {
  checkNames('connect', options, OPTIONS);
  const { redis, namespace, keyPrefix = '', allowUnsafe = false, durability } = options;
  const pool = await call(() =>
    RedisPool.connect(
      POOL,
      {
        ...(typeof redis === 'string' ? { url: redis } : redis),
        ...{ keyPrefix, allowUnsafe, commandTimeoutMs: options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS },
        ...(durability === undefined ? {} : { durability }),
      },
      logOf(options.logger),
    ),
  );
  const engine = new PoolEngine(pool, options.engine);
  engine.start();
  return new EnginePumphouse(engine, pool, namespace);
}

/** What `Pumphouse` of the client is, over Redis alone: publishes jobs and runs workers. */
export class EnginePumphouse extends Producer {
  readonly jobs: EngineJobs;
  readonly queues: EngineQueues;
  readonly deadLetter: EngineDeadLetter;
  readonly recurring: EngineRecurring;
  readonly operations: EngineOperations;
  readonly stats: EngineStats;
  readonly workers: EngineWorkers;
  readonly variables: EngineVariables;
  /** For a worker of your own. */
  readonly driver: EngineDriver;
  private readonly started = new Set<Worker>();
  private closing: Promise<void> | undefined;

  constructor(
    /** For all that this class does not have. */
    readonly engine: PoolEngine,
    private readonly pool: RedisPool,
    private readonly namespace: string,
  ) {
    const driver = new EngineDriver(engine, namespace);
    super(driver);
    this.driver = driver;
    this.jobs = new EngineJobs(engine, namespace);
    this.queues = new EngineQueues(engine, namespace);
    this.deadLetter = new EngineDeadLetter(engine, namespace);
    this.recurring = new EngineRecurring(engine, namespace);
    this.operations = new EngineOperations(engine, namespace);
    this.stats = new EngineStats(engine, namespace);
    this.workers = new EngineWorkers(engine, namespace);
    this.variables = new EngineVariables(engine, namespace);
  }

  /** What happens in the namespace, from now on or behind the event at `after`; it ends with `close`. */
  events(options: EventOptions = {}): AsyncGenerator<PlacedEvent, void, void> {
    return eventsOf(this.engine, this.namespace, options);
  }

  /** A worker of this namespace; `run` starts it, `close` stops it. */
  worker(options: WorkerOptions = {}): Worker {
    const worker = new Worker(this.driver, options);
    this.started.add(worker);
    return worker;
  }

  /**
   * Stops the workers, as `Worker.stop` does, then the loops, and closes the connections. Resolves at once in a handler
   * of one of the workers.
   */
  async close(): Promise<void> {
    this.closing ??= this.shutDown();
    if (![...this.started].some(({ isInHandler }) => isInHandler)) await this.closing;
  }

  /** @throws {PumphouseError} `unsupported`: servers send the jobs of pushed queues */
  get targets(): never {
    throw new PumphouseError(
      'unsupported',
      '`targets` needs a server: use the Pumphouse of @pumphouse/client',
    );
  }

  private async shutDown(): Promise<void> {
    for (const worker of this.started) void worker.stop();
    await Promise.all([...this.started].map(({ ended }) => ended));
    await this.engine.stop();
    await this.pool.close();
  }
}

const silent = (): void => undefined;

function logOf(logger: Logger | undefined): Log {
  return {
    debug: silent,
    info: silent,
    warn: (details, message) => logger?.warn(message, { ...details }),
    error: (details, message) => logger?.error(message, { ...details }),
  };
}
