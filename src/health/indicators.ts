import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { TokenStore } from '../auth/token-store.js';
import { Drain } from '../http/request/drain.js';
import type { PoolStatus, RedisPool } from '../redis/pool.js';

/** The key of the drain indicator in a result. */
export const DRAIN = 'drain';

// Indicators report what the process already knows: a probe sends nothing to Redis. `reasons` are listed in the body of
// the probe.

/** Health of one pool. */
export class PoolIndicator {
  constructor(
    private readonly pool: RedisPool,
    private readonly health: HealthIndicatorService,
  ) {}

  get name(): string {
    return this.pool.name;
  }

  get isUp(): boolean {
    return this.pool.status.up;
  }

  /** @param isNeeded no other pool is up; a pool that is down but not needed only makes the server degraded */
  check(isNeeded: boolean): HealthIndicatorResult {
    const { up } = this.pool.status;
    const reasons = reasonsOf(this.name, this.pool.status);
    // The prefix separates pools from other indicators. It also keeps their order: an object puts keys like "1" first.
    const indicator = this.health.check(`pool:${this.name}`);
    if (!up && isNeeded) return indicator.down({ reasons });
    return reasons.length > 0 ? indicator.degraded({ reasons }) : indicator.up();
  }
}

/** Health of the Redis that stores the tokens. */
@Injectable()
export class TokenStoreIndicator {
  constructor(
    private readonly tokens: TokenStore,
    private readonly health: HealthIndicatorService,
  ) {}

  check(): HealthIndicatorResult {
    const indicator = this.health.check('tokens');
    const { status } = this.tokens;
    return status.up
      ? indicator.up()
      : indicator.down({ reasons: reasonsOf('tokens', { ...status, degraded: [] }) });
  }
}

/** Reports whether the server starts or drains. Then it is down for load balancers, but serves requests. */
@Injectable()
export class DrainIndicator {
  constructor(
    private readonly drain: Drain,
    private readonly health: HealthIndicatorService,
  ) {}

  check(): HealthIndicatorResult<typeof DRAIN> {
    const indicator = this.health.check(DRAIN);
    const { announced, starting } = this.drain;
    return announced || /* guard: not-ready-while-starting */ starting
      ? indicator.down({ starting: !announced })
      : indicator.up();
  }
}

/** Why a pool is down or degraded, as `pool: reason`; the first with what Redis refused. */
function reasonsOf(name: string, { up, degraded, refusal }: PoolStatus): string[] {
  const reasons = up ? degraded : ['down', ...degraded];
  return reasons.map((reason, i) => {
    const why = i === 0 && refusal !== undefined ? ` (${refusal})` : '';
    return `${name}: ${reason}${why}`;
  });
}
