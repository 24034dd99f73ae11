import type { Metrics } from './metrics.js';
import { type Cell, type HistogramCell, SeriesTable } from './series.js';

/** The outcome of a job; `held`: the circuit breaker of its origin is open, so it was not sent. */
const OUTCOMES = ['ack', 'keep', 'retry', 'release', 'fail', 'held'] as const;
export type PushOutcome = (typeof OUTCOMES)[number];

/** Counters of one target. */
export interface TargetSeries {
  readonly jobs: Readonly<Record<PushOutcome, Cell>>;
  /** How often this process opened a breaker of it. */
  readonly opened: Cell;
}

/** HTTP push of one process. */
export class PushMetrics {
  /** Requests in progress. */
  readonly inFlight: Cell;
  private readonly targets: SeriesTable<TargetSeries>;
  private readonly times = new Map<string, HistogramCell>();

  /** @param limit targets with their own labels; the others share `other` */
  constructor(
    private readonly metrics: Metrics,
    limit: number,
    clock?: () => number,
  ) {
    const { pushedJobs, pushBreakers, pushInFlight } = metrics;
    this.inFlight = pushInFlight.cell({});
    this.targets = new SeriesTable(
      limit,
      {
        create: (pool, namespace, target) => ({
          jobs: Object.fromEntries(
            OUTCOMES.map((outcome) => [outcome, pushedJobs.cell({ pool, namespace, target, outcome })]),
          ) as TargetSeries['jobs'],
          opened: pushBreakers.cell({ pool, namespace, target }),
        }),
        end: (series) => {
          for (const outcome of OUTCOMES) pushedJobs.end(series.jobs[outcome]);
          pushBreakers.end(series.opened);
        },
      },
      clock,
    );
  }

  of(pool: string, namespace: string, target: string): TargetSeries {
    return this.targets.get(pool, namespace, target);
  }

  /** Durations of the requests of a pool, in milliseconds. */
  timeOf(pool: string): HistogramCell {
    let cell = this.times.get(pool);
    if (!cell) this.times.set(pool, (cell = this.metrics.pushTime.cell({ pool })));
    return cell;
  }

  sweep(): void {
    this.targets.sweep();
  }
}
