import type { EngineObserver, PumpCounts, SessionChange } from '../engine/core/observer.js';
import { type Cell, type HistogramCell, SeriesTable } from './series.js';
import type { Metrics } from './metrics.js';

/** The cells of one queue. */
export interface QueueSeries {
  readonly published: Cell;
  readonly leased: Cell;
  readonly acked: Cell;
  readonly failed: Cell;
  readonly retried: Cell;
  readonly unhandled: Cell;
  readonly released: Cell;
  readonly respawned: Cell;
  readonly waitMs: HistogramCell;
  readonly runMs: HistogramCell;
  readonly ackMs: HistogramCell;
}

/** The bounded table of per-queue counters; one per process, shared by all pools. */
export function queueTable(
  metrics: Metrics,
  maxQueues: number,
  clock?: () => number,
): SeriesTable<QueueSeries> {
  const { jobsPublished, jobsLeased, jobsAcked, jobsFailed, jobsRetried, jobsReleased, jobsRespawned } =
    metrics;
  const { jobWait, jobRun, jobAck } = metrics;
  return new SeriesTable(
    maxQueues,
    {
      create: (pool, namespace, queue) => {
        const labels = { pool, namespace, queue };
        return {
          published: jobsPublished.cell(labels),
          leased: jobsLeased.cell(labels),
          acked: jobsAcked.cell(labels),
          failed: jobsFailed.cell(labels),
          retried: jobsRetried.cell(labels),
          unhandled: jobsReleased.cell({ ...labels, reason: 'no_handler' }),
          released: jobsReleased.cell({ ...labels, reason: 'other' }),
          respawned: jobsRespawned.cell(labels),
          waitMs: jobWait.cell(labels),
          runMs: jobRun.cell(labels),
          ackMs: jobAck.cell(labels),
        };
      },
      end: (series) => {
        jobsPublished.end(series.published);
        jobsLeased.end(series.leased);
        jobsAcked.end(series.acked);
        jobsFailed.end(series.failed);
        jobsRetried.end(series.retried);
        jobsReleased.end(series.unhandled);
        jobsReleased.end(series.released);
        jobsRespawned.end(series.respawned);
        jobWait.end(series.waitMs);
        jobRun.end(series.runMs);
        jobAck.end(series.ackMs);
      },
    },
    clock,
  );
}

const STALE_ACK_KINDS = ['refused', 'late', 'possible'] as const;
type StaleAckKind = (typeof STALE_ACK_KINDS)[number];

const SESSION_CHANGES = ['started', 'returned', 'ended', 'lost'] as const satisfies readonly SessionChange[];

/** Counters per namespace: stale acknowledgements by kind, worker sessions by change. */
export type NamespaceSeries = Readonly<Record<StaleAckKind | SessionChange, Cell>>;

/** The bounded table of per-namespace counters. Its keys have an empty queue. */
export function namespaceTable(
  { staleAcks, sessions }: Metrics,
  limit: number,
  clock?: () => number,
): SeriesTable<NamespaceSeries> {
  return new SeriesTable(
    limit,
    {
      create: (pool, namespace) => {
        const stale = (kind: StaleAckKind): Cell => staleAcks.cell({ pool, namespace, kind });
        const changed = (change: SessionChange): Cell => sessions.cell({ pool, namespace, change });
        return {
          ...{ refused: stale('refused'), late: stale('late'), possible: stale('possible') },
          ...{ started: changed('started'), returned: changed('returned') },
          ...{ ended: changed('ended'), lost: changed('lost') },
        };
      },
      end: (series) => {
        for (const kind of STALE_ACK_KINDS) staleAcks.end(series[kind]);
        for (const change of SESSION_CHANGES) sessions.end(series[change]);
      },
    },
    clock,
  );
}

interface ScriptSeries {
  readonly calls: Cell;
  readonly lmstfyMs: HistogramCell;
  readonly roundTripMs: HistogramCell;
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
    totals.timerAdded.value += scheduled;
    totals.directPushed.value += jobs - scheduled;
    this.of(namespace, queue).published.value += jobs;
  }

  leased(namespace: string, queue: string, waitMs: number): void {
    const { totals } = this;
    totals.leased.value += 1;
    totals.timerAdded.value += 1;
    const series = this.of(namespace, queue);
    series.leased.value += 1;
    series.waitMs.observe(waitMs);
  }

  acked(namespace: string, queue: string, ageMs: number | null): void {
    this.totals.deleted.value += 1;
    const series = this.of(namespace, queue);
    series.acked.value += 1;
    if (ageMs !== null) series.ackMs.observe(ageMs);
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
    totals.latenessMs.observe(latenessMs);
  }

  expired(_namespace: string, jobs: number): void {
    this.totals.expired.value += jobs;
  }

  respawned(namespace: string, queue: string, jobs: number): void {
    this.totals.respawned.value += jobs;
    this.of(namespace, queue).respawned.value += jobs;
  }

  ran(namespace: string, queue: string, runMs: number): void {
    this.of(namespace, queue).runMs.observe(runMs);
  }

  failed(namespace: string, queue: string, jobs: number): void {
    this.of(namespace, queue).failed.value += jobs;
  }

  retried(namespace: string, queue: string, jobs: number): void {
    this.of(namespace, queue).retried.value += jobs;
  }

  released(namespace: string, queue: string, reason: 'no_handler' | 'other', jobs: number): void {
    const { unhandled, released } = this.of(namespace, queue);
    (reason === 'no_handler' ? unhandled : released).value += jobs;
  }

  script(name: string, items: number, roundTripMs: number): void {
    const series = this.scripts.get(name) ?? this.scriptSeries(name);
    series.calls.value += 1;
    series.lmstfyMs.observe(roundTripMs);
    series.roundTripMs.observe(roundTripMs);
    series.items.observe(items);
  }

  waiters(count: number): void {
    this.totals.waiters.value = count;
  }

  emitted(written: number, dropped: number): void {
    this.totals.eventsWritten.value += written;
    this.totals.eventsDropped.value += dropped;
  }

  sessions(namespace: string, what: SessionChange, count: number): void {
    this.namespaces.get(this.pool, namespace, '')[what].value += count;
  }

  loopError(loop: string): void {
    let cell = this.loops.get(loop);
    if (!cell) {
      cell = this.metrics.loopErrors.cell({ pool: this.pool, loop });
      this.loops.set(loop, cell);
    }
    cell.value += 1;
  }

  private of(namespace: string, queue: string): QueueSeries {
    return this.queues.get(this.pool, namespace, queue);
  }

  private scriptSeries(script: string): ScriptSeries {
    const { metrics, pool } = this;
    const asCommand = { node: pool, command: script, status: 'ok' };
    const series = {
      calls: metrics.lmstfyRedisCalls.cell(asCommand),
      lmstfyMs: metrics.lmstfyRedisLatency.cell(asCommand),
      roundTripMs: metrics.scriptTime.cell({ pool, script }),
      items: metrics.scriptItems.cell({ pool, script }),
    };
    this.scripts.set(script, series);
    return series;
  }
}

/** The cells of one pool's totals. */
function totalsOf(metrics: Metrics, pool: string) {
  const labels = { pool };
  const pumped = (outcome: keyof PumpCounts): Cell => metrics.jobsPumped.cell({ pool, outcome });
  return {
    published: metrics.lmstfyPublishJobs.cell(labels),
    directPushed: metrics.lmstfyDirectPushJobs.cell(labels),
    timerAdded: metrics.lmstfyTimerAddJobs.cell(labels),
    leased: metrics.lmstfyConsumeJobs.cell(labels),
    deleted: metrics.lmstfyPoolDeleteJobs.cell(labels),
    timerDue: metrics.lmstfyTimerDueJobs.cell(labels),
    fullBatches: metrics.pumpFullRounds.cell(labels),
    respawned: metrics.lmstfyRespawnJobs.cell(labels),
    due: pumped('due'),
    returned: pumped('returned'),
    died: pumped('died'),
    pumpExpired: pumped('expired'),
    expired: metrics.jobsExpired.cell(labels),
    undone: metrics.leasesUndone.cell(labels),
    latenessMs: metrics.pumpLateness.cell(labels),
    waiters: metrics.waiters.cell(labels),
    eventsWritten: metrics.eventsWritten.cell(labels),
    eventsDropped: metrics.eventsDropped.cell(labels),
  };
}
