import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { migrationsOf } from '../config/migrations.js';
import { TokenStore } from '../auth/token-store.js';
import { QueueError } from '../domain/errors.js';
import { Drain } from '../http/drain.js';
import { PoolRegistry } from '../redis/redis.module.js';

/** Whether this server should be sent requests, and what is wrong with it although it should. */
export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'draining' | 'unavailable';
  /** Reasons, as `pool: reason`. */
  readonly degraded: readonly string[];
}

/**
 * Judges by what the connections know already; nothing is sent to Redis. A pool in trouble does not make the server unready as
 * long as another one works: with 503 no acknowledgement could reach a full Redis to empty it.
 */
@Injectable()
export class ReadinessService {
  private readonly migrations: ReadonlyMap<string, string>;

  constructor(
    @Inject(Drain) private readonly drain: Drain,
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(TokenStore) private readonly tokens: TokenStore,
    @Inject(Config) config: Config,
  ) {
    this.migrations = migrationsOf(config.pools);
  }

  overall(): Readiness {
    const states = this.pools.names().map((name) => this.reasons(name));
    const degraded = states.flatMap(({ reasons }) => reasons);
    if (!this.tokens.status.up) degraded.push('tokens: down');
    const isUsable = this.tokens.status.up && states.some(({ isUp }) => isUp);
    return this.judge(isUsable, degraded);
  }

  /** A pool that migrates is judged together with the one that it goes to. @throws {QueueError} `pool_not_found` */
  ofPool(name: string): Readiness {
    const states = [this.reasons(name)];
    for (let next = this.migrations.get(name); next !== undefined; next = this.migrations.get(next)) {
      states.push(this.reasons(next));
    }
    return this.judge(
      states.some(({ isUp }) => isUp),
      states.flatMap(({ reasons }) => reasons),
    );
  }

  private judge(isUsable: boolean, degraded: string[]): Readiness {
    if (this.drain.announced) return { status: 'draining', degraded };
    if (!isUsable) return { status: 'unavailable', degraded };
    return { status: degraded.length > 0 ? 'degraded' : 'ready', degraded };
  }

  private reasons(name: string): { isUp: boolean; reasons: string[] } {
    const pool = this.pools.get(name);
    if (!pool) throw new QueueError('pool_not_found', 'pool not found');
    const { up, degraded } = pool.status;
    const found = up ? degraded : ['down', ...degraded];
    return { isUp: up, reasons: found.map((reason) => `${name}: ${reason}`) };
  }
}
