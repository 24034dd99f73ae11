import { QueueError } from '../../domain/errors.js';
import { QueueEngine } from '../engine.js';
import type { EventFeed } from '../events/feed.js';
import type { ExtendedPath } from '../extended-path.js';
import { MigratingQueues } from './migrating-queues.js';
import type { ServedRecords } from '../served-records.js';
import type { Queues } from './served-queues.js';

/** The engines of a process by pool name, and the queues that callers of a pool use. */
export class EngineRegistry {
  private readonly serving: ReadonlyMap<string, Queues>;

  /**
   * @param engines one per pool
   * @param migrations target pool by pool name
   * @throws {Error} a migration has an unknown target, or migrations form a cycle
   */
  constructor(
    private readonly engines: ReadonlyMap<string, QueueEngine>,
    private readonly migrations: ReadonlyMap<string, string> = new Map(),
  ) {
    const of = (name: string, seen: readonly string[]): Queues => {
      const engine = engines.get(name);
      if (!engine || seen.includes(name)) throw new Error(`pool ${name} cannot be migrated to`);
      const target = migrations.get(name);
      const next = engines.get(target ?? '');
      if (target === undefined) return engine;
      const queues = of(target, [...seen, name]);
      return new MigratingQueues(engine, queues, engine.moveTo(next ?? engine));
    };
    this.serving = new Map([...engines.keys()].map((name) => [name, of(name, [])]));
  }

  /** The queues for callers of a pool. @throws {QueueError} `pool_not_found` */
  forPool(name: string): Queues {
    const queues = this.serving.get(name);
    if (!queues) throw new QueueError('pool_not_found', 'pool not found');
    return queues;
  }

  /**
   * The events of a pool. @throws {QueueError} `pool_not_found`; `pool_moving`: during a migration events are in two
   * pools
   */
  eventsOf(name: string): EventFeed {
    const queues = this.forPool(name);
    if (queues instanceof QueueEngine) return queues.events;
    throw poolMoving();
  }

  /** Settings of queues, targets, recurring jobs and workers, also while the pool moves. @throws {QueueError} `pool_not_found` */
  recordsOf(name: string): ServedRecords {
    return this.forPool(name).records;
  }

  /**
   * The extended path of a pool. @throws {QueueError} `pool_not_found`; `pool_moving`: during a migration its jobs are
   * in two pools
   */
  extendedOf(name: string): ExtendedPath {
    const queues = this.forPool(name);
    if (queues instanceof QueueEngine) return queues.extended;
    throw poolMoving();
  }

  /** The name by which clients know the jobs of a pool: that of the pool that moves there, if one does. */
  clientPoolOf(name: string): string {
    for (const [from, to] of this.migrations) if (to === name) return this.clientPoolOf(from);
    return name;
  }

  names(): string[] {
    return [...this.engines.keys()];
  }

  /** Every engine once, to start and stop them. */
  all(): QueueEngine[] {
    return [...this.engines.values()];
  }

  /** The pools that are being moved to this one. */
  movingTo(pool: string): string[] {
    return [...this.migrations].flatMap(([from, to]) => (to === pool ? [from] : []));
  }

  /** Every engine with the name of its pool. */
  entries(): [pool: string, engine: QueueEngine][] {
    return [...this.engines];
  }
}

function poolMoving(): QueueError {
  return new QueueError(
    'pool_moving',
    'the pool is being moved: this call is refused until the move has ended',
  );
}
