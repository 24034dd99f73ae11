import type { EngineObserver, PumpCounts } from '../engine/core/observer.js';
import { type Cell, type HistogramCell, SeriesTable } from './series.js';
import type { Metrics } from './metrics.js';

/** Counters per queue. */
export interface QueueSeries {
  readonly published: Cell;
  readonly consumed: Cell;
  readonly elapsedMs: HistogramCell;
  readonly ackElapsedMs: HistogramCell;
}

/** The bounded table of per-queue counters; one per process, shared by all pools. */
export function queueTable(
  metrics: Metrics,
  maxQueues: number,
  clock?: () => number,
): SeriesTable<QueueSeries> {
  const { publishQueueJobs, consumeQueueJobs, jobElapsed, jobAckElapsed } = metrics;
  return new SeriesTable(
    maxQueues,
    {
      create: (pool, namespace, queue) => {
        const labels = { pool, namespace, queue };
        return {
          published: publishQueueJobs.cell(labels),
          consumed: consumeQueueJobs.cell(labels),
          elapsedMs: jobElapsed.cell(labels),
          ackElapsedMs: jobAckElapsed.cell(labels),
        };
      },
      merge: ({ published, consumed, elapsedMs, ackElapsedMs }, other) => {
        publishQueueJobs.merge(published, other.published);
        consumeQueueJobs.merge(consumed, other.consumed);
        jobElapsed.merge(elapsedMs, other.elapsedMs);
        jobAckElapsed.merge(ackElapsedMs, other.ackElapsedMs);
      },
    },
    clock,
  );
}

const STALE_ACK_KINDS = ['refused', 'late', 'possible'] as const;
type StaleAckKind = (typeof STALE_ACK_KINDS)[number];

/** Counters per namespace: stale acknowledgements by kind. */
export type NamespaceSeries = Readonly<Record<StaleAckKind, Cell>>;

/** The bounded table of per-namespace counters. Its keys have an empty queue. */
export function namespaceTable(
  { staleAcks }: Metrics,
  limit: number,
  clock?: () => number,
): SeriesTable<NamespaceSeries> {
  return new SeriesTable(
    limit,
    {
      create: (pool, namespace) => ({
        refused: staleAcks.cell({ pool, namespace, kind: 'refused' }),
        late: staleAcks.cell({ pool, namespace, kind: 'late' }),
        possible: staleAcks.cell({ pool, namespace, kind: 'possible' }),
      }),
      merge: (series, other) => {
        for (const kind of STALE_ACK_KINDS) staleAcks.merge(series[kind], other[kind]);
      },
    },
    clock,
  );
}

interface ScriptSeries {
  readonly calls: Cell;
  readonly latencyMs: HistogramCell;
  readonly seconds: HistogramCell;
  readonly items: HistogramCell;
}

/**
 * Counts what the engine of one pool does. Every call is a handful of additions: a known queue costs three map lookups,
 * a known script one, and nothing is allocated.
 */
export class EngineMetrics implements EngineObserver {
  private readonly totals;
  private readonly scripts = new Map<string, ScriptSeries>();
  private readonly loops = new Map<string, Cell>();

  /** @param pumpBatch maximum number of jobs that one pump round moves: a round that moved as many counts as full */
  constructor(
    private readonly metrics: Metrics,
    private readonly pool: string,
    private readonly queues: SeriesTable<QueueSeries>,
    private readonly namespaces: SeriesTable<NamespaceSeries>,
    private readonly pumpBatch: number,
  ) {
    this.totals = totalsOf(metrics, pool);
    // The shared series exist from the start, so that a rate over them includes their first increment.
    queues.other(pool);
    namespaces.other(pool);
  }

  published(namespace: string, queue: string, jobs: number, scheduled: number): void {
    const { totals } = this;
    totals.published.value += jobs;
    totals.added.value += jobs;
    totals.timerAdded.value += scheduled;
    totals.directPushed.value += jobs - scheduled;
    this.queues.get(this.pool, namespace, queue).published.value += jobs;
  }

  leased(namespace: string, queue: string, waitMs: number): void {
    const { totals } = this;
    totals.consumed.value += 1;
    totals.read.value += 1;
    totals.popped.value += 1;
    totals.timerAdded.value += 1;
    totals.waitS.observe(waitMs / 1_000);
    const series = this.queues.get(this.pool, namespace, queue);
    series.consumed.value += 1;
    series.elapsedMs.observe(waitMs);
  }

  acked(namespace: string, queue: string, ageMs: number | null): void {
    this.totals.deleted.value += 1;
    if (ageMs === null) return;
    this.totals.ackS.observe(ageMs / 1_000);
    this.queues.get(this.pool, namespace, queue).ackElapsedMs.observe(ageMs);
  }

  staleAck(namespace: string, kind: StaleAckKind): void {
    this.namespaces.get(this.pool, namespace, '')[kind].value += 1;
  }

  undone(_namespace: string, jobs: number): void {
    this.totals.undone.value += jobs;
  }

  pumped(_namespace: string, { due, returned, died, expired }: PumpCounts, latenessMs: number): void {
    const { totals } = this;
    const moved = due + returned + died + expired;
    if (moved === 0) return;
    totals.due.value += due;
    totals.returned.value += returned;
    totals.died.value += died;
    totals.pumpExpired.value += expired;
    totals.timerDue.value += moved;
    if (moved >= this.pumpBatch) totals.fullBatches.value += 1;
    totals.latenessS.observe(latenessMs / 1_000);
  }

  expired(_namespace: string, jobs: number): void {
    this.totals.expired.value += jobs;
  }

  respawned(_namespace: string, _queue: string, jobs: number): void {
    this.totals.respawned.value += jobs;
  }

  ran(_namespace: string, _queue: string, runMs: number): void {
    this.totals.runS.observe(runMs / 1_000);
  }

  failed(_namespace: string, _queue: string, jobs: number): void {
    this.totals.failed.value += jobs;
  }

  retried(_namespace: string, _queue: string, jobs: number): void {
    this.totals.retried.value += jobs;
  }

  script(name: string, items: number, roundTripMs: number): void {
    const series = this.scripts.get(name) ?? this.scriptSeries(name);
    series.calls.value += 1;
    series.latencyMs.observe(roundTripMs);
    series.seconds.observe(roundTripMs / 1_000);
    series.items.observe(items);
  }

  waiters(count: number): void {
    this.totals.waiters.value = count;
  }

  emitted(written: number, dropped: number): void {
    this.totals.eventsWritten.value += written;
    this.totals.eventsDropped.value += dropped;
  }

  loopError(loop: string): void {
    let cell = this.loops.get(loop);
    if (!cell) {
      cell = this.metrics.loopErrors.cell({ pool: this.pool, loop });
      this.loops.set(loop, cell);
    }
    cell.value += 1;
  }

  private scriptSeries(script: string): ScriptSeries {
    const { metrics, pool } = this;
    const asCommand = { node: pool, command: script, status: 'ok' };
    const series = {
      calls: metrics.redisCalls.cell(asCommand),
      latencyMs: metrics.redisLatency.cell(asCommand),
      seconds: metrics.scriptTime.cell({ pool, script }),
      items: metrics.scriptItems.cell({ pool, script }),
    };
    this.scripts.set(script, series);
    return series;
  }
}

/** The cells of one pool's totals. */
function totalsOf(metrics: Metrics, pool: string) {
  const labels = { pool };
  const pumped = (outcome: keyof PumpCounts): Cell => metrics.pumpedJobs.cell({ pool, outcome });
  return {
    published: metrics.publishJobs.cell(labels),
    added: metrics.poolAddJobs.cell(labels),
    directPushed: metrics.queueDirectPushJobs.cell(labels),
    timerAdded: metrics.timerAddJobs.cell(labels),
    consumed: metrics.consumeMultiJobs.cell(labels),
    read: metrics.poolGetJobs.cell(labels),
    popped: metrics.queuePopJobs.cell(labels),
    deleted: metrics.poolDeleteJobs.cell(labels),
    timerDue: metrics.timerDueJobs.cell(labels),
    fullBatches: metrics.timerFullBatches.cell(labels),
    respawned: metrics.deadletterRespawnJobs.cell(labels),
    due: pumped('due'),
    returned: pumped('returned'),
    died: pumped('died'),
    pumpExpired: pumped('expired'),
    expired: metrics.expiredJobs.cell(labels),
    undone: metrics.undoneLeases.cell(labels),
    waitS: metrics.jobWait.cell(labels),
    ackS: metrics.jobAck.cell(labels),
    runS: metrics.jobRun.cell(labels),
    failed: metrics.failedJobs.cell(labels),
    retried: metrics.retriedJobs.cell(labels),
    latenessS: metrics.pumpLateness.cell(labels),
    waiters: metrics.waiters.cell(labels),
    eventsWritten: metrics.eventsWritten.cell(labels),
    eventsDropped: metrics.eventsDropped.cell(labels),
  };
}
