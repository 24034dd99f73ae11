import type { Gap, History } from '../../engine/history/history.js';
import { PAST, type Point, RECENT, type Step } from '../../engine/history/points.js';
import type { Row } from './rows.js';

/** Intervals that a line of the overview shows. */
const SHOWN = 30;
/** How long they count, in milliseconds: a point is new every ten seconds at most. */
const KEPT_MS = 10_000;
/** Queues that are kept. */
const MOST_KEPT = 2_000;

/** What happened to a queue in the last intervals, the oldest first; null = not collected. */
export interface ShownActivity {
  readonly stepMs: number;
  readonly published: readonly (number | null)[];
  readonly acked: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
}

/** The last points of queues, read again after ten seconds. */
export class QueueActivities {
  private readonly kept = new Map<
    string,
    { readonly interval: number; readonly activity: ShownActivity | null }
  >();

  constructor(private readonly history: History) {}

  /** @throws {QueueError} an error of the store */
  of(rows: readonly Row[], nowMs: number, gaps: readonly Gap[]): Promise<(ShownActivity | null)[]> {
    return Promise.all(rows.map((row) => this.one(row, nowMs, gaps)));
  }

  private async one(row: Row, nowMs: number, gaps: readonly Gap[]): Promise<ShownActivity | null> {
    if (row.sample.atMs === 0) return null;
    const key = `${row.namespace}/${row.queue}`;
    const interval = Math.floor(nowMs / KEPT_MS);
    const known = this.kept.get(key);
    if (known?.interval === interval) return known.activity;
    const activity = await this.read(row, nowMs, gaps);
    if (this.kept.size >= MOST_KEPT) this.kept.clear();
    this.kept.set(key, { interval, activity });
    return activity;
  }

  private async read(
    { namespace, queue, sample }: Row,
    nowMs: number,
    gaps: readonly Gap[],
  ): Promise<ShownActivity> {
    const isRecent = sample.recentSinceMs > 0;
    const step = isRecent ? RECENT : PAST;
    const to = lastInterval(step, nowMs);
    const from = to - SHOWN + 1;
    const points = await this.history.points(namespace, queue, step, from, to);
    const sinceMs = isRecent ? sample.recentSinceMs : 0;
    const of = (name: 'published' | 'acked' | 'failed'): (number | null)[] =>
      Array.from({ length: SHOWN }, (_, i) => valueAt(points, step, from + i, { gaps, sinceMs }, name));
    return { stepMs: step.stepMs, published: of('published'), acked: of('acked'), failed: of('failed') };
  }
}

/** The last interval whose points are written, on the whole. */
export function lastInterval({ stepMs }: Step, nowMs: number): number {
  return Math.floor(nowMs / stepMs) - 1;
}

/** When something was collected. */
export interface Collected {
  readonly gaps: readonly Gap[];
  /** Nothing before this time was collected of the queue, Unix ms. */
  readonly sinceMs: number;
}

/** A count of an interval: without a point nothing happened, if something would have been collected. */
export function valueAt(
  points: ReadonlyMap<number, Point>,
  { stepMs }: Step,
  interval: number,
  { gaps, sinceMs }: Collected,
  name: 'published' | 'leased' | 'acked' | 'failed' | 'died',
): number | null {
  const point = points.get(interval);
  if (point) return point[name];
  const [fromMs, toMs] = [interval * stepMs, (interval + 1) * stepMs];
  if (toMs <= sinceMs || gaps.some((gap) => gap.fromMs < toMs && gap.toMs > fromMs)) return null;
  return 0;
}
