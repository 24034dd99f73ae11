import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import type { Registry } from 'prom-client';
import { gaugeProviders } from './gauges.js';
import { MetricsController } from './metrics.controller.js';
import { METRICS_OPTIONS, MetricsService } from './metrics.service.js';
import type { MetricsOptions } from './metrics.service.js';
import { Metrics } from './metrics.js';
import { QueueSizeGauges } from './queue-gauges.js';
import { InfoGauges, StatusGauges } from './redis-gauges.js';

/** Precision of the event loop lag, in milliseconds: each step wakes the process. */
const LOOP_LAG_STEP_MS = 50;

/** Counting, and the route that shows the counters: they need not be in the same application (docs/adr/0025). */
@Module({})
export class MetricsModule {
  /**
   * Provides `MetricsService` everywhere, with its own registry, which also has Node's process metrics. Opens no route.
   */
  static forRoot(options: MetricsOptions): DynamicModule {
    const metrics = new Metrics();
    return {
      module: MetricsModule,
      global: true,
      imports: [defaultMetrics(metrics.registry)],
      providers: metricsProviders(options, metrics),
      exports: [MetricsService],
    };
  }

  /** `/metrics`, for the admin application. Needs the global PROCESS_COMMANDS. */
  static route(): DynamicModule {
    return PrometheusModule.register({ controller: MetricsController, defaultMetrics: { enabled: false } });
  }
}

/** `MetricsService` and its dependencies. */
export function metricsProviders(options: MetricsOptions, metrics: Metrics): Provider[] {
  return [
    { provide: METRICS_OPTIONS, useValue: options },
    { provide: Metrics, useValue: metrics },
    ...gaugeProviders(metrics),
    StatusGauges,
    InfoGauges,
    QueueSizeGauges,
    MetricsService,
  ];
}

/** The package opens a route in each application that imports it; this removes it. */
function defaultMetrics(register: Registry): DynamicModule {
  const config = { register, eventLoopMonitoringPrecision: LOOP_LAG_STEP_MS };
  return { ...PrometheusModule.register({ defaultMetrics: { enabled: true, config } }), controllers: [] };
}
