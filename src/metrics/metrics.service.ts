import { Inject, Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Gauge, type Registry } from 'prom-client';
import { EngineMetrics, namespaceTable, queueTable } from './engine-metrics.js';
import type { NamespaceSeries, QueueSeries } from './engine-metrics.js';
import { EventMetrics } from './event-metrics.js';
import { FloodMetrics } from './flood-metrics.js';
import { GAUGES, type PoolLabel } from './gauges.js';
import { HttpMetrics } from './http-metrics.js';
import { Metrics } from './metrics.js';
import { PushMetrics } from './push-metrics.js';
import { QueueGauges, QueueSizeGauges } from './queue-gauges.js';
import type { GaugeBudget, QueueSource } from './queue-gauges.js';
import { InfoGauges, StatusGauges } from './redis-gauges.js';
import type { StoreSource } from './redis-gauges.js';
import type { SeriesTable } from './series.js';

/** Maximum age of gauges read from Redis while it answers, and their minimum interval, in milliseconds. */
export const REFRESH_MS = 5_000;
/** A scrape waits this long for them, and then shows the previous values, in milliseconds. */
const REFRESH_WAIT_MS = 2_500;

/** Injection token of `MetricsOptions`. */
export const METRICS_OPTIONS = Symbol('MetricsOptions');

export interface MetricsOptions {
  /** Queues with their own labels; also the limit for namespaces. */
  readonly maxQueues: number;
  /** Show lmstfy's names in addition to ours. */
  readonly lmstfyNames: boolean;
  /** Read queue sizes and INFO: true in the one process that serves `/metrics`, false in the API processes of a cluster. */
  readonly readsPools: boolean;
  /** Maximum number of jobs that one pump round moves. */
  readonly pumpBatch: number;
  /** Unix ms; for tests. */
  readonly clock?: () => number;
}

/** One line of the text format. */
export interface MetricLine {
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
  /** The family's name with `_bucket`, `_sum` or `_count`, in a histogram. */
  readonly metricName?: string;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly MetricLine[];
}

/** The values of one process. Plain JSON, so that an API process can send it to the primary unchanged. */
export type MetricsSnapshot = readonly MetricFamily[];

interface PoolReader {
  readonly store: StoreSource;
  /** Null in a process that does not read the pools. */
  readonly queues: QueueGauges | null;
  readAtMs: number;
}

/**
 * The metrics of one process. The code that builds an engine passes it `observer(pool)` and then calls `attach`; the
 * code that answers requests calls `http.record`. With one process, `text()` is the answer of `/metrics`. With several,
 * the primary collects `snapshot()` of every API process and of itself, and sums them up in `ClusterTotals`.
 */
@Injectable()
export class MetricsService {
  readonly http: HttpMetrics;
  readonly floods: FloodMetrics;
  readonly events: EventMetrics;
  readonly push: PushMetrics;
  private readonly clock: () => number;
  private readonly queues: SeriesTable<QueueSeries>;
  private readonly namespaces: SeriesTable<NamespaceSeries>;
  private readonly observers = new Map<string, EngineMetrics>();
  private readonly pools = new Map<string, PoolReader>();
  private readonly budget: GaugeBudget;
  private refreshing: Promise<void> | undefined;
  private refreshedAtMs = -Infinity;

  constructor(
    @Inject(METRICS_OPTIONS) private readonly options: MetricsOptions,
    private readonly metrics: Metrics,
    private readonly status: StatusGauges,
    private readonly info: InfoGauges,
    private readonly sizes: QueueSizeGauges,
    @InjectMetric(GAUGES.gaugesAge.name) private readonly age: Gauge<PoolLabel>,
  ) {
    const { maxQueues, clock = Date.now } = options;
    this.clock = clock;
    this.queues = queueTable(metrics, maxQueues, clock);
    this.namespaces = namespaceTable(metrics, maxQueues, clock);
    this.http = new HttpMetrics(metrics, maxQueues, clock);
    this.floods = new FloodMetrics(metrics);
    this.events = new EventMetrics(metrics);
    this.push = new PushMetrics(metrics, maxQueues, clock);
    this.budget = {
      limit: maxQueues,
      held: 0,
      preferred: (pool, ns, queue) => this.queues.has(pool, ns, queue),
    };
  }

  /** Observer for the engine of a pool; the same one for each call. */
  observer(pool: string): EngineMetrics {
    let observer = this.observers.get(pool);
    if (!observer) {
      observer = new EngineMetrics(this.metrics, pool, this.queues, this.namespaces, this.options.pumpBatch);
      this.observers.set(pool, observer);
    }
    return observer;
  }

  /** Starts to read the gauges of a pool; once per pool. */
  attach(store: StoreSource, queues: QueueSource): void {
    const { name } = store;
    if (this.pools.has(name)) return;
    const reads = this.options.readsPools;
    if (reads) this.info.begin(store);
    this.pools.set(name, {
      store,
      queues: reads ? new QueueGauges(this.sizes, name, queues, this.budget) : null,
      readAtMs: this.clock(),
    });
  }

  /** The values of this process; gauges older than five seconds are read again. Does not fail if a pool is down. */
  async snapshot(): Promise<MetricsSnapshot> {
    await this.collect();
    const families = await Promise.all(this.registries().map((registry) => registry.getMetricsAsJSON()));
    return families.flat();
  }

  /** The metrics of this process alone, in Prometheus's text format. */
  async text(): Promise<string> {
    await this.collect();
    const texts = await Promise.all(this.registries().map((registry) => registry.metrics()));
    return texts.join('\n');
  }

  private registries(): Registry[] {
    const { registry, lmstfyRegistry } = this.metrics;
    return this.options.lmstfyNames ? [registry, lmstfyRegistry] : [registry];
  }

  private async collect(): Promise<void> {
    this.queues.sweep();
    this.namespaces.sweep();
    this.http.sweep();
    this.push.sweep();
    for (const { store } of this.pools.values()) this.status.refresh(store);
    if (!this.options.readsPools) return;
    await this.refresh();
    for (const [pool, { readAtMs }] of this.pools) this.age.set({ pool }, (this.clock() - readAtMs) / 1_000);
  }

  /** Shares one read among concurrent scrapes, and waits for it only for a limited time. */
  private async refresh(): Promise<void> {
    if (!this.refreshing && this.clock() - this.refreshedAtMs >= REFRESH_MS) {
      this.refreshedAtMs = this.clock();
      this.refreshing = Promise.all([...this.pools.values()].map((pool) => this.readPool(pool))).then(() => {
        this.refreshing = undefined;
      });
    }
    if (!this.refreshing) return;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, REFRESH_WAIT_MS)));
    await Promise.race([this.refreshing, patience]);
    clearTimeout(timer);
  }

  private async readPool(pool: PoolReader): Promise<void> {
    try {
      await this.info.refresh(pool.store);
      await pool.queues?.refresh();
      pool.readAtMs = this.clock();
    } catch {
      // The pool does not answer: `pumphouse_redis_up` shows it, and the age of the gauges grows.
    }
  }
}
