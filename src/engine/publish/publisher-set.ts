import type { Durability } from '../../domain/durability.js';
import { UlidMinter } from '../../domain/ids.js';
import type { RedisPool } from '../../redis/pool.js';
import type { EngineObserver } from '../core/observer.js';
import { Publisher, type PublishSettings } from './publisher.js';
import { ScriptRunner } from '../core/scripts.js';

/** Publishers for each durability: each has its own batches and its own connection path to the pool. */
export class PublisherSet {
  /** For publishes that request no durability. */
  readonly usual: Publisher;
  /** Shared, so that the ids of one server are in order. */
  readonly minter = new UlidMinter();
  private readonly others = new Map<Durability, Publisher>();
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

  of(durability: Durability): Publisher {
    let publisher = this.others.get(durability);
    if (!publisher) {
      publisher = this.make(durability);
      this.others.set(durability, publisher);
    }
    return publisher;
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

  private make(durability: Durability): Publisher {
    return new Publisher(
      this.runnerOf(durability),
      this.observer,
      this.scheduleWakeup,
      this.minter,
      this.settings,
      durability,
    );
  }
}
