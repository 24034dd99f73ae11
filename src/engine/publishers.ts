import type { Durability } from '../domain/durability.js';
import { UlidMinter } from '../domain/ulid.js';
import type { RedisPool } from '../redis/pool.js';
import type { EventTeller } from './events/teller.js';
import type { EngineObserver } from './observer.js';
import { OncePublisher } from './publish-once.js';
import { Publisher, type ReplaceRich } from './publisher.js';
import { ScriptRunner } from './script-runner.js';

/** How to publish with one durability: as it comes, or under an idempotency key. */
export interface PublishWay {
  readonly plain: Publisher;
  readonly once: OncePublisher;
}

/** What all publishers of an engine share. */
export interface PublishSettings {
  /** As `quotasText` gives them. */
  readonly quotas: string;
  /** How long an idempotency key is remembered, in milliseconds. */
  readonly idempotencyTtlMs: number;
  readonly clock: (() => number) | undefined;
  readonly replaceRich: ReplaceRich;
  /** Hears of what was stored. */
  readonly events: EventTeller;
}

/** One way for each durability: each batches for itself, and has its own path to the pool. */
export class Publishers {
  /** For those who ask for nothing. */
  readonly usual: PublishWay;
  /** One for all, so that ids of one server are in order. */
  readonly minter = new UlidMinter();
  private readonly others = new Map<Durability, PublishWay>();

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    private readonly arm: (namespace: string, dueMs: number) => void,
    private readonly settings: PublishSettings,
  ) {
    this.usual = this.of(pool.options.durability ?? 'memory');
  }

  of(durability: Durability | undefined): PublishWay {
    if (durability === undefined) return this.usual;
    let way = this.others.get(durability);
    if (!way) {
      way = this.make(durability);
      this.others.set(durability, way);
    }
    return way;
  }

  private make(durability: Durability): PublishWay {
    const { quotas, idempotencyTtlMs, clock, replaceRich, events } = this.settings;
    const runner = new ScriptRunner(this.pool, this.observer, clock, this.pool.through(durability));
    const plain = new Publisher(
      runner,
      this.observer,
      this.arm,
      this.minter,
      quotas,
      replaceRich,
      durability !== 'memory',
      events,
    );
    return { plain, once: new OncePublisher(runner, plain, idempotencyTtlMs, quotas) };
  }
}
