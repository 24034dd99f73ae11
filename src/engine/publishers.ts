import type { Durability } from '../domain/durability.js';
import { UlidMinter } from '../domain/ulid.js';
import type { RedisPool } from '../redis/pool.js';
import type { EngineObserver } from './observer.js';
import { Publisher } from './publisher.js';
import { ScriptRunner } from './script-runner.js';

/** One publisher for each durability: each batches for itself, and has its own way to the pool. */
export class Publishers {
  /** For those who ask for nothing. */
  readonly usual: Publisher;
  /** One for all, so that ids of one server are in order. */
  private readonly minter = new UlidMinter();
  private readonly others = new Map<Durability, Publisher>();

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    private readonly clock: (() => number) | undefined,
    private readonly arm: (namespace: string, dueMs: number) => void,
  ) {
    this.usual = this.of(pool.options.durability ?? 'memory');
  }

  of(durability: Durability | undefined): Publisher {
    if (durability === undefined) return this.usual;
    let publisher = this.others.get(durability);
    if (!publisher) {
      const runner = new ScriptRunner(this.pool, this.observer, this.clock, this.pool.through(durability));
      publisher = new Publisher(runner, this.observer, this.arm, this.minter, durability !== 'memory');
      this.others.set(durability, publisher);
    }
    return publisher;
  }
}
