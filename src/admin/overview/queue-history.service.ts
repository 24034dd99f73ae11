import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { QueueError } from '../../domain/errors.js';
import { checkNames } from '../../domain/ids.js';
import { Engines } from '../../engine/engines.js';
import { PAST, type Point, RECENT } from '../../engine/history/points.js';
import type { Sample } from '../../engine/history/samples.js';
import { PoolRegistry } from '../../redis/redis.module.js';
import { lastInterval, valueAt } from './queue-activities.js';

type QuantileName = 'waitP50Ms' | 'waitP95Ms' | 'runP50Ms' | 'runP95Ms';

/** The history of single queues. */
@Injectable()
export class QueueHistoryService {
  constructor(
    private readonly engines: Engines,
    private readonly config: Config,
    private readonly pools: PoolRegistry,
  ) {}

  /** The last hour or week of a queue. @throws {QueueError} `pool_not_found`, `invalid_argument`, an error of the store */
  async read(pool: string, namespace: string, queue: string, stepMs: number) {
    checkNames(namespace, queue);
    const engine = this.engines.entries().find(([name]) => name === pool)?.[1];
    const redis = this.pools.all().find(({ name }) => name === pool);
    if (!engine || !redis) throw new QueueError('pool_not_found', 'pool not found');
    const step = stepMs === RECENT.stepMs ? RECENT : PAST;
    const to = lastInterval(step, redis.clock.now());
    const from = to - step.kept + 1;
    const [sample, { gaps }, points] = await Promise.all([
      engine.history.sample(namespace, queue),
      engine.history.collection(),
      engine.history.points(namespace, queue, step, from, to),
    ]);
    const sinceMs = this.config.history.enabled ? sinceOf(sample, step === RECENT) : Infinity;
    const intervals = Array.from({ length: step.kept }, (_, i) => from + i);
    const counts = (name: 'published' | 'leased' | 'acked' | 'failed' | 'died') =>
      intervals.map((interval) => valueAt(points, step, interval, { gaps, sinceMs }, name));
    const quantiles = (name: QuantileName) =>
      intervals.map((interval) => points.get(interval)?.[name] ?? null);
    const published = counts('published');
    return {
      ...{ pool, namespace, queue, stepMs: step.stepMs, published },
      ...{ fromAtMs: from * step.stepMs, untilAtMs: (to + 1) * step.stepMs },
      ...{ leased: counts('leased'), acked: counts('acked'), failed: counts('failed'), dead: counts('died') },
      ready: carried(intervals, points, published, ({ ready }) => ready),
      oldestReadyAgeMs: carried(intervals, points, published, ({ ready, oldestMs }, passed) =>
        ready > 0 && oldestMs > 0 ? oldestMs + passed * step.stepMs : 0,
      ),
      ...{ waitP50Ms: quantiles('waitP50Ms'), waitP95Ms: quantiles('waitP95Ms') },
      ...{ runP50Ms: quantiles('runP50Ms'), runP95Ms: quantiles('runP95Ms') },
    };
  }
}

/** Since when something would have been kept of the queue, Unix ms. */
function sinceOf(sample: Sample | null, isRecent: boolean): number {
  if (sample === null) return Infinity;
  if (!isRecent) return 0;
  if (sample.recentSinceMs > 0) return sample.recentSinceMs;
  return Infinity;
}

/** What holds until the next point: jobs do not change between two points. Null before the first one, and where nothing was collected. */
function carried(
  intervals: readonly number[],
  points: ReadonlyMap<number, Point>,
  counts: readonly (number | null)[],
  valueOf: (point: Point, passed: number) => number,
): (number | null)[] {
  let last: Point | undefined;
  return intervals.map((interval, i) => {
    last = points.get(interval) ?? last;
    if (last === undefined || counts[i] === null) return null;
    return valueOf(last, interval - last.interval);
  });
}
