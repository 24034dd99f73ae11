import { QueueError } from '../domain/errors.js';
import type { Engine } from './engine.js';
import type { PoolEngine } from './pool-engine.js';
import { movingEngine } from './moving/moving-engine.js';

/** The engines of a process, by pool name. */
export class Engines {
  private readonly serving: ReadonlyMap<string, Engine>;

  /**
   * @param engines one per pool
   * @param migrations target pool by pool name
   * @throws {Error} a migration has an unknown target, or migrations form a cycle
   */
  constructor(
    private readonly engines: ReadonlyMap<string, PoolEngine>,
    private readonly migrations: ReadonlyMap<string, string> = new Map(),
  ) {
    const of = (name: string, seen: readonly string[]): Engine => {
      const engine = engines.get(name);
      if (!engine || seen.includes(name)) throw new Error(`pool ${name} cannot be migrated to`);
      const target = migrations.get(name);
      const next = engines.get(target ?? '');
      if (target === undefined) return engine;
      return movingEngine(engine, of(target, [...seen, name]), engine.moveTo(next ?? engine));
    };
    this.serving = new Map([...engines.keys()].map((name) => [name, of(name, [])]));
  }

  /** The engine for callers of a pool: of two pools, while it moves. @throws {QueueError} `pool_not_found` */
  of(pool: string): Engine {
    const engine = this.serving.get(pool);
    if (!engine) throw new QueueError('pool_not_found', 'pool not found');
    return engine;
  }

  /** The name by which clients know the jobs of a pool: that of the pool that moves there, if one does. */
  clientPoolOf(name: string): string {
    for (const [from, to] of this.migrations) if (to === name) return this.clientPoolOf(from);
    return name;
  }

  /** Every engine once, to start and stop them. */
  all(): PoolEngine[] {
    return [...this.engines.values()];
  }

  /** True while a pool moves to another one. */
  isMoving(pool: string): boolean {
    return this.migrations.has(pool);
  }

  /** A pool, and those that it is being moved to: one may be moving on. */
  chainOf(pool: string): string[] {
    const next = this.migrations.get(pool);
    return [pool, ...(next === undefined ? [] : /* guard: moves-in-a-chain */ this.chainOf(next))];
  }

  /** Every engine with the name of its pool. */
  entries(): [pool: string, engine: PoolEngine][] {
    return [...this.engines];
  }
}
