import { Module } from '@nestjs/common';
import { HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import { AuthModule } from '../auth/auth.module.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { HealthController } from './health.controller.js';
import { DrainIndicator, PoolIndicator, TokenStoreIndicator } from './indicators.js';
import { POOL_INDICATORS, ReadinessService } from './readiness.js';

/** Needs the global Config, pools and Drain. Terminus logs nothing: a pool itself logs once when it is down. */
@Module({
  imports: [AuthModule, TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [
    {
      provide: POOL_INDICATORS,
      inject: [PoolRegistry, HealthIndicatorService],
      useFactory: (pools: PoolRegistry, health: HealthIndicatorService) =>
        pools.all().map((pool) => new PoolIndicator(pool, health)),
    },
    TokenStoreIndicator,
    DrainIndicator,
    ReadinessService,
  ],
})
export class HealthModule {}
