import { Controller, Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { MetricsService } from './metrics.service.js';
import type { MetricsOptions } from './metrics.service.js';

/** Stands for the Prometheus module's own controller, which would open `/metrics` on the API port: the admin port serves it. */
@Controller()
class NoMetricsRoute {}

/** How finely the event loop's lag is measured, in milliseconds: each step wakes the process. */
const LOOP_LAG_STEP_MS = 20;

/** Provides `MetricsService` everywhere, with Node's process metrics in its registry. */
@Module({})
export class MetricsModule {
  static forRoot(options: MetricsOptions): DynamicModule {
    const service = new MetricsService(options);
    const { registry } = service.metrics;
    return {
      module: MetricsModule,
      global: true,
      imports: [
        PrometheusModule.register({
          controller: NoMetricsRoute,
          defaultMetrics: {
            enabled: true,
            config: { register: registry, eventLoopMonitoringPrecision: LOOP_LAG_STEP_MS },
          },
        }),
      ],
      providers: [{ provide: MetricsService, useValue: service }],
      exports: [MetricsService],
    };
  }
}
