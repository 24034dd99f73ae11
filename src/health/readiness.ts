import { Inject, Injectable, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheckService, type HealthCheckResult, type HealthIndicatorFunction } from '@nestjs/terminus';
import { Config } from '../config/config.js';
import { migrationsOf } from '../config/migrations.js';
import { QueueError } from '../domain/errors.js';
import { DRAIN, DrainIndicator, PoolIndicator, TokenStoreIndicator } from './indicators.js';

/** Whether this server should get requests, and what is degraded. */
export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'starting' | 'draining' | 'unavailable';
  /** Reasons, as `pool: reason`. */
  readonly degraded: readonly string[];
}

/** Injection token of the indicators of all pools, in the order of the configuration. */
export const POOL_INDICATORS = Symbol('PoolIndicators');

/** Details that an indicator adds to its status. */
interface Detail {
  readonly reasons?: readonly string[];
}

/**
 * Runs the health checks of `/readyz`. The server stays ready while at least one pool is up. A 503 would also stop the
 * acks, which free memory in a Redis that is full.
 */
@Injectable()
export class ReadinessService {
  private readonly migrations: ReadonlyMap<string, string>;

  constructor(
    private readonly health: HealthCheckService,
    @Inject(POOL_INDICATORS) private readonly pools: readonly PoolIndicator[],
    private readonly tokens: TokenStoreIndicator,
    private readonly drain: DrainIndicator,
    config: Config,
  ) {
    this.migrations = migrationsOf(config.pools);
  }

  overall(): Promise<Readiness> {
    return this.check(this.pools);
  }

  /** Checks a pool, and the pools that it migrates to. @throws {QueueError} `pool_not_found` */
  async ofPool(name: string): Promise<Readiness> {
    const pools = [this.pool(name)];
    for (let next = this.migrations.get(name); next !== undefined; next = this.migrations.get(next)) {
      pools.push(this.pool(next));
    }
    return this.check(pools);
  }

  private pool(name: string): PoolIndicator {
    const found = this.pools.find((pool) => pool.name === name);
    if (!found) throw new QueueError('pool_not_found', 'pool not found');
    return found;
  }

  private async check(pools: readonly PoolIndicator[]): Promise<Readiness> {
    const server = [() => this.tokens.check(), () => this.drain.check()];
    const result = await this.health.check([...checksOf(pools), ...server]).catch(resultOf);
    const details = Object.values(result.details) as readonly Detail[];
    const degraded = details.flatMap(({ reasons }) => reasons ?? []);
    return { status: statusOf(result), degraded };
  }
}

/** One check for each pool. Every pool is needed while none is up. */
function checksOf(pools: readonly PoolIndicator[]): HealthIndicatorFunction[] {
  const isNeeded = !pools.some(({ isUp }) => isUp);
  return pools.map((pool) => () => pool.check(isNeeded));
}

/** Terminus throws the result of a failed check. */
function resultOf(error: unknown): HealthCheckResult {
  if (error instanceof ServiceUnavailableException) return error.getResponse() as HealthCheckResult;
  throw error;
}

function statusOf({ status, error }: HealthCheckResult): Readiness['status'] {
  if (status === 'ok') return 'ready';
  if (status === 'degraded') return 'degraded';
  if (status === 'shutting_down') return 'draining';
  const drain = error?.[DRAIN];
  if (drain === undefined) return 'unavailable';
  return drain['starting'] === true ? 'starting' : 'draining';
}
