import { QueueError } from '../domain/errors.js';
import { QueueEngine } from './engine.js';
import type { EventFeed } from './events/feed.js';
import type { FullLane } from './full/full-lane.js';
import { MigratingQueues } from './migrating-queues.js';
import type { Queues } from './queues.js';

/** The engines of a process, by the name of their pool; and what callers of a pool are served by. */
export class EngineRegistry {
  private readonly serving: ReadonlyMap<string, Queues>;

  /**
   * @param engines one for each pool
   * @param migrations where pools move to, by name
   * @throws {Error} a migration goes to a pool that there is not, or round in a circle
   */
  constructor(
    private readonly engines: ReadonlyMap<string, QueueEngine>,
    migrations: ReadonlyMap<string, string> = new Map(),
  ) {
    const of = (name: string, seen: readonly string[]): Queues => {
      const engine = engines.get(name);
      if (!engine || seen.includes(name)) throw new Error(`pool ${name} cannot be migrated to`);
      const target = migrations.get(name);
      return target === undefined ? engine : new MigratingQueues(engine, of(target, [...seen, name]));
    };
    this.serving = new Map([...engines.keys()].map((name) => [name, of(name, [])]));
  }

  /** The queues that the callers of a pool see. @throws {QueueError} `pool_not_found` */
  forPool(name: string): Queues {
    const queues = this.serving.get(name);
    if (!queues) throw new QueueError('pool_not_found', 'pool not found');
    return queues;
  }

  /** What happens in a pool. @throws {QueueError} `pool_not_found`; `pool_moving`: it happens in two places just now */
  eventsOf(name: string): EventFeed {
    const queues = this.forPool(name);
    if (queues instanceof QueueEngine) return queues.events;
    throw poolMoving();
  }

  /** What plain queues cannot do. @throws {QueueError} `pool_not_found`; `pool_moving`: its jobs are in two places just now */
  fullLaneOf(name: string): FullLane {
    const lane = this.fullLaneIfOne(name);
    if (lane === null) throw poolMoving();
    return lane;
  }

  /** The same, or null while the pool moves. */
  fullLaneIfOne(name: string): FullLane | null {
    const queues = this.forPool(name);
    return queues instanceof QueueEngine ? queues.full : null;
  }

  names(): string[] {
    return [...this.engines.keys()];
  }

  /** Every engine once, to be started and stopped. */
  all(): QueueEngine[] {
    return [...this.engines.values()];
  }
}

function poolMoving(): QueueError {
  return new QueueError('pool_moving', 'the pool is moving to another one');
}
