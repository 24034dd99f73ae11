import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { migrationsOf } from '../config/migrations.js';
import { LOG, type Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { Engines } from '../engine/engines.js';
import { type EngineOptions, PoolEngine } from '../engine/pool-engine.js';
import { PUMP_STEP } from '../engine/timers/pump.js';
import type { Timers } from '../engine/timers/timers.js';
import { Drain } from '../http/request/drain.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { TIMERS } from '../pump/pump.constants.js';
import { PoolRegistry, RedisModule } from '../redis/redis.module.js';

/** What an application is created from. */
export interface AppParts {
  readonly config: Config;
  /** Connection options of each pool, including the embedded ones. */
  readonly pools: Readonly<Record<string, PoolOptions>>;
  readonly log: Log;
  readonly drain: Drain;
  /** Left out: no metrics. `reads`: also read queue sizes and the state of Redis. */
  readonly metrics?: { readonly reads: boolean };
  /** Clock of the engines for tests, Unix ms; left out, Redis's clock is used. */
  readonly clock?: () => number;
}

/** What both applications share: configuration, log, pools, engines, metrics. All of it is global. */
@Module({})
export class CoreModule {
  static forRoot(parts: AppParts): DynamicModule {
    const { config, pools, log, drain, metrics } = parts;
    const measured = metrics && [
      MetricsModule.forRoot({
        maxQueues: config.metrics.max_queues,
        lmstfyNames: config.metrics.lmstfy_names,
        readsPools: metrics.reads,
        pumpBatch: PUMP_STEP,
      }),
    ];
    return {
      module: CoreModule,
      global: true,
      imports: [ConfigModule.forRoot(config), RedisModule.forRoot(pools, log), ...(measured ?? [])],
      providers: [
        { provide: LOG, useValue: log },
        { provide: Drain, useValue: drain },
        {
          provide: Engines,
          inject: [
            PoolRegistry,
            { token: MetricsService, optional: true },
            { token: TIMERS, optional: true },
          ],
          useFactory: (open: PoolRegistry, service?: MetricsService, timers?: Timers) =>
            buildEngines(open, parts, service, timers),
        },
      ],
      exports: [LOG, Drain, Engines],
    };
  }
}

function engineOptions({ limits, events, stats, history }: Config): EngineOptions {
  const quotas = {
    queues: limits.max_queues_per_namespace,
    jobsPerQueue: limits.max_jobs_per_queue,
    bytes: limits.max_bytes_per_namespace,
    workers: limits.max_workers_per_namespace,
    keys: limits.max_keys_per_namespace,
  };
  return {
    quotas,
    idempotencyTtlMs: limits.idempotency_ttl_s * 1_000,
    eventsKeepMs: events.keep_ms,
    eventsMaxKept: events.max_kept,
    stats: { historyDays: stats.history_days, maxQueues: stats.max_queues },
    history: history.enabled ? { mostBytes: history.max_bytes } : null,
  };
}

function buildEngines(
  pools: PoolRegistry,
  { config, clock }: AppParts,
  metrics?: MetricsService,
  timers?: Timers,
): Engines {
  const options = { ...engineOptions(config), ...(clock && { clock }), ...(timers && { timers }) };
  const migrations = migrationsOf(config.pools);
  const engines = pools.all().map((pool): [string, PoolEngine] => {
    const engine = new PoolEngine(
      pool,
      metrics ? { ...options, observer: metrics.observer(pool.name) } : options,
    );
    metrics?.attach(pool, engine);
    return [pool.name, engine];
  });
  return new Engines(new Map(engines), migrations);
}
