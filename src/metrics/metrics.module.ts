import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { collectDefaultMetrics } from 'prom-client';
import { MetricsService } from './metrics.service.js';
import type { MetricsOptions } from './metrics.service.js';

/** How finely the event loop's lag is measured, in milliseconds: each step wakes the process. */
const LOOP_LAG_STEP_MS = 50;

/** Provides `MetricsService` everywhere, with Node's process metrics in its registry. It opens no route: the admin port does. */
@Module({})
export class MetricsModule {
  static forRoot(options: MetricsOptions): DynamicModule {
    return {
      module: MetricsModule,
      global: true,
      providers: [{ provide: MetricsService, useFactory: () => started(options) }],
      exports: [MetricsService],
    };
  }
}

function started(options: MetricsOptions): MetricsService {
  const service = new MetricsService(options);
  collectDefaultMetrics({
    register: service.metrics.registry,
    eventLoopMonitoringPrecision: LOOP_LAG_STEP_MS,
  });
  return service;
}
