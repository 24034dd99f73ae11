import type { Durability } from '../../domain/durability.js';
import { UlidMinter } from '../../domain/ids.js';
import type { RedisPool } from '../../redis/pool.js';
import type { EngineObserver } from '../core/observer.js';
import { IdempotentPublisher } from './idempotent-publisher.js';
import { Publisher, type PublishSettings } from './publisher.js';
import { ScriptRunner } from '../core/scripts.js';

/** Publishers of one durability: without and with an idempotency key. */
export interface PublishWay {
  readonly simple: Publisher;
  readonly idempotent: IdempotentPublisher;
}

/** Publishers for each durability: each has its own batches and its own connection path to the pool. */
export class PublisherSet {
  /** For publishes that request no durability. */
  readonly usual: PublishWay;
  /** Shared, so that the ids of one server are in order. */
  readonly minter = new UlidMinter();
  private readonly others = new Map<Durability, PublishWay>();
  private readonly runners = new Map<Durability, ScriptRunner>();
  private readonly usualDurability: Durability;

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    private readonly scheduleWakeup: (namespace: string, dueMs: number) => void,
    private readonly settings: PublishSettings,
  ) {
    this.usualDurability = pool.options.durability ?? 'memory';
    this.usual = this.of(this.usualDurability);
  }

  of(durability: Durability): PublishWay {
    let way = this.others.get(durability);
    if (!way) {
      way = this.make(durability);
      this.others.set(durability, way);
    }
    return way;
  }

  /** Runner for a durability; by default the pool's own. */
  runnerOf(durability: Durability = this.usualDurability): ScriptRunner {
    let runner = this.runners.get(durability);
    if (!runner) {
      runner = new ScriptRunner(this.pool, this.observer, this.settings.clock, this.pool.through(durability));
      this.runners.set(durability, runner);
    }
    return runner;
  }

  private make(durability: Durability): PublishWay {
    const { quotas, idempotencyTtlMs } = this.settings;
    const runner = this.runnerOf(durability);
    const simple = new Publisher(
      runner,
      this.observer,
      this.scheduleWakeup,
      this.minter,
      this.settings,
      durability,
    );
    return { simple, idempotent: new IdempotentPublisher(runner, simple, idempotencyTtlMs, quotas) };
  }
}
