import { type DynamicModule, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { RedisPool } from './pool.js';

/** Injection token of a pool, for factories. */
export function poolToken(name: string): string {
  return `RedisPool:${name}`;
}

/**
 * Injects the pool of this name into a constructor. Only for names that every configuration has; others use
 * PoolRegistry.
 */
export function InjectPool(name: string): ParameterDecorator {
  return Inject(poolToken(name));
}

/** The pools of a process by name. */
export class PoolRegistry {
  private readonly pools: ReadonlyMap<string, RedisPool>;

  constructor(pools: readonly RedisPool[]) {
    this.pools = new Map(pools.map((pool) => [pool.name, pool]));
  }

  get(name: string): RedisPool | undefined {
    return this.pools.get(name);
  }

  names(): string[] {
    return [...this.pools.keys()];
  }

  all(): RedisPool[] {
    return [...this.pools.values()];
  }
}

/** Closes the pools last. */
@Injectable()
class PoolCloser implements OnApplicationShutdown {
  constructor(private readonly registry: PoolRegistry) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.registry.all().map((pool) => pool.close()));
  }
}

/** One provider per pool, and a registry for names that are only known at request time. */
@Module({})
export class RedisModule {
  static forRoot(pools: Readonly<Record<string, PoolOptions>>, log: Log): DynamicModule {
    const names = Object.keys(pools);
    // An application that cannot be made runs no shutdown hooks: one pool that fails closes the others.
    const opening: Promise<RedisPool>[] = [];
    const open = async (name: string, options: PoolOptions): Promise<RedisPool> => {
      const pool = RedisPool.connect(name, options, log);
      opening.push(pool);
      try {
        return await pool;
      } catch (error) {
        // guard: failed-start-closes-all-pools
        for (const one of opening) void one.then((opened) => opened.close()).catch(() => undefined);
        throw error;
      }
    };
    return {
      module: RedisModule,
      global: true,
      providers: [
        ...Object.entries(pools).map(([name, options]) => ({
          provide: poolToken(name),
          useFactory: () => open(name, options),
        })),
        {
          provide: PoolRegistry,
          inject: names.map(poolToken),
          useFactory: (...open: RedisPool[]) => new PoolRegistry(open),
        },
        PoolCloser,
      ],
      exports: [PoolRegistry, ...names.map(poolToken)],
    };
  }
}
