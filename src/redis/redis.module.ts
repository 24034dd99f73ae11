import { Module, type DynamicModule, type OnApplicationShutdown, Injectable, Inject } from '@nestjs/common';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { RedisPool } from './pool.js';

/** Injection token of a pool. */
export function poolToken(name: string): string {
  return `RedisPool:${name}`;
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

/** Closes the pools last of all. */
@Injectable()
class PoolCloser implements OnApplicationShutdown {
  constructor(@Inject(PoolRegistry) private readonly registry: PoolRegistry) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.registry.all().map((pool) => pool.close()));
  }
}

/** One provider per pool, and a registry for names that are known only at request time. */
@Module({})
export class RedisModule {
  static forRoot(pools: Readonly<Record<string, PoolOptions>>, log: Log): DynamicModule {
    const names = Object.keys(pools);
    return {
      module: RedisModule,
      global: true,
      providers: [
        ...Object.entries(pools).map(([name, options]) => ({
          provide: poolToken(name),
          useFactory: () => RedisPool.connect(name, options, log),
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
