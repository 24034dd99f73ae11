import { AggregatorRegistry } from 'prom-client';
import { EngineMetrics, namespaceTable, queueTable } from './engine-metrics.js';
import type { NamespaceSeries, QueueSeries } from './engine-metrics.js';
import { EventMetrics } from './event-metrics.js';
import { FloodMetrics } from './flood-metrics.js';
import { HttpMetrics } from './http-metrics.js';
import { Metrics } from './metrics.js';
import { QueueGauges } from './queue-gauges.js';
import type { GaugeBudget, QueueSource } from './queue-gauges.js';
import { InfoGauges, StatusGauges } from './redis-gauges.js';
import type { StoreSource } from './redis-gauges.js';
import type { SeriesTable } from './series-table.js';
import type { Cell } from './families.js';

/** Gauges that ask Redis are at most this old when Redis answers, and asked for no more often, in milliseconds. */
export const REFRESH_MS = 5_000;
/** A scrape waits this long for them, and then shows what was there before, in milliseconds. */
const REFRESH_WAIT_MS = 2_500;

export interface MetricsOptions {
  /** Queues with labels of their own; also the bound for namespaces. */
  readonly maxQueues: number;
  /** Read queue sizes and INFO: true in the one process that serves `/metrics`, false in the workers of a cluster. */
  readonly readsPools: boolean;
  /** Jobs that one pump round moves at most. */
  readonly pumpBatch: number;
  /** Unix ms; for tests. */
  readonly clock?: () => number;
}

/** The values of one process. Plain JSON, so that it may be sent from a worker to the primary as it is. */
export type MetricsSnapshot = readonly object[];

interface PoolReader {
  readonly status: StatusGauges;
  readonly info: InfoGauges | null;
  readonly queues: QueueGauges | null;
  readonly age: Cell | null;
  readAtMs: number;
}

/**
 * The metrics of one process. Who builds an engine gives it `observer(pool)` and then calls `attach`; who answers requests calls
 * `http.record`. With one process, `text()` is the answer of `/metrics`. With several, the primary collects `snapshot()` of every
 * worker and of itself, and answers `MetricsService.merge(snapshots)`.
 */
export class MetricsService {
  readonly metrics = new Metrics();
  readonly http: HttpMetrics;
  readonly floods = new FloodMetrics(this.metrics);
  readonly events = new EventMetrics(this.metrics);
  private readonly clock: () => number;
  private readonly queues: SeriesTable<QueueSeries>;
  private readonly namespaces: SeriesTable<NamespaceSeries>;
  private readonly observers = new Map<string, EngineMetrics>();
  private readonly pools = new Map<string, PoolReader>();
  private readonly budget: GaugeBudget;
  private refreshing: Promise<void> | undefined;
  private refreshedAtMs = -Infinity;

  constructor(private readonly options: MetricsOptions) {
    const { maxQueues, clock = Date.now } = options;
    this.clock = clock;
    this.queues = queueTable(this.metrics, maxQueues, clock);
    this.namespaces = namespaceTable(this.metrics, maxQueues, clock);
    this.http = new HttpMetrics(this.metrics, maxQueues, clock);
    this.budget = {
      limit: maxQueues,
      held: 0,
      preferred: (pool, ns, queue) => this.queues.has(pool, ns, queue),
    };
  }

  /** What the engine of a pool reports to; the same for each call. */
  observer(pool: string): EngineMetrics {
    let observer = this.observers.get(pool);
    if (!observer) {
      observer = new EngineMetrics(this.metrics, pool, this.queues, this.namespaces, this.options.pumpBatch);
      this.observers.set(pool, observer);
    }
    return observer;
  }

  /** Reads the gauges of a pool from now on; once per pool. */
  attach(store: StoreSource, queues: QueueSource): void {
    const { metrics } = this;
    const pool = store.name;
    if (this.pools.has(pool)) return;
    const reads = this.options.readsPools;
    this.pools.set(pool, {
      status: new StatusGauges(metrics, store),
      info: reads ? new InfoGauges(metrics, store) : null,
      queues: reads ? new QueueGauges(metrics, pool, queues, this.budget) : null,
      age: reads ? metrics.gaugesAge.cell({ pool }) : null,
      readAtMs: this.clock(),
    });
  }

  /** The values of this process, gauges read anew if they are older than five seconds. Never fails for a pool that is down. */
  async snapshot(): Promise<MetricsSnapshot> {
    await this.collect();
    return this.metrics.registry.getMetricsAsJSON();
  }

  /** The metrics of this process alone, in Prometheus's text format. */
  async text(): Promise<string> {
    await this.collect();
    return this.metrics.registry.metrics();
  }

  /** The metrics of several processes as one text: each family by its own aggregator (counters are summed up). */
  static merge(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    return AggregatorRegistry.aggregate([...snapshots]).metrics();
  }

  private async collect(): Promise<void> {
    this.queues.sweep();
    this.namespaces.sweep();
    this.http.sweep();
    for (const { status } of this.pools.values()) status.refresh();
    if (this.options.readsPools) await this.refresh();
    for (const { age, readAtMs } of this.pools.values())
      if (age) age.value = (this.clock() - readAtMs) / 1_000;
  }

  /** Shares one reading among scrapes that come together, and does not wait for it for ever. */
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
      await pool.info?.refresh();
      await pool.queues?.refresh();
      pool.readAtMs = this.clock();
    } catch {
      // The pool does not answer: `pumphouse_redis_up` says so, and the age of the gauges grows.
    }
  }
}
