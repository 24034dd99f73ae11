import type { QueueCounts } from '../../domain/job/job.js';
import type { QueueSettings } from '../../contract/queue-settings.js';
import type { RedisPool } from '../../redis/pool.js';
import { writeSamples } from '../../redis/scripts/simple.js';
import type { Item } from '../../redis/scripts/script.js';
import type { ScriptRunner } from '../core/scripts.js';
import { MOST_QUEUES } from './activity.js';
import { countedSince, isNothing, NOTHING, QueueActivity } from './counts.js';
import { encodePoint, type NewPoint, PAST, RECENT, slotOf } from './points.js';
import { NO_SAMPLE, type Sample, sampleOf, sampleText, statesIn } from './samples.js';
import { keepsPlace, type Tracked } from './tracked-queues.js';

/** Quantiles of a point. */
const [MEDIAN, HIGH] = [0.5, 0.95];
/** Codes of lua/commands/maintenance/write_samples.lua. */
const WRITTEN = 1;
const PURGED = 2;

/** What a sampler reads of queues. */
export interface QueueReading {
  counts(namespace: string, queues: readonly string[]): Promise<QueueCounts[]>;
  /** Null for a queue that does not exist. */
  settings(namespace: string, queues: readonly string[]): Promise<(QueueSettings | null)[]>;
}

/** What is read of a queue for a sample. */
interface Reading {
  readonly counts: QueueCounts;
  readonly settings: QueueSettings | null;
  /** Its activity in the present interval of five minutes, and in the one before. */
  readonly now: QueueActivity;
  readonly before: QueueActivity;
}

/** A sample that is to be written, with its points. */
interface Taken {
  readonly sample: Sample;
  readonly recent: Buffer | null;
  readonly past: Buffer | null;
  readonly activity: QueueActivity;
}

/** What one call has written. */
export interface WrittenBytes {
  readonly recentBytes: number;
  readonly pastBytes: number;
  /** True: the namespace was purged meanwhile. */
  readonly isPurged: boolean;
}

/** What holds for all samples of a run. */
export interface Run {
  /** The interval of ten seconds that ended last. */
  readonly interval: number;
  /** True: a queue without a place may get one. Counts each. */
  readonly takePlace: () => boolean;
  /** False: there is no room for points of five minutes. */
  readonly hasRoom: boolean;
  /** Queues whose samples are removed. */
  readonly gone: ReadonlySet<Tracked>;
}

/** Takes samples of queues, and writes them with the points that they end. */
export class Sampler {
  constructor(
    private readonly pool: Pick<RedisPool, 'keys' | 'read'>,
    private readonly runner: ScriptRunner,
    private readonly reading: QueueReading,
  ) {}

  /** Samples some queues of a namespace, up to 64. @throws {QueueError} an error of the store */
  async sample(namespace: string, tracked: readonly Tracked[], run: Run): Promise<WrittenBytes> {
    const sinceMs = Math.floor(this.runner.now());
    const readings = await this.read(namespace, tracked, run.interval);
    const nowMs = this.runner.now();
    const taken = tracked.map((one, i) => take(one, readings[i], run, nowMs));
    const items = tracked.map((one, i) => itemOf(one, taken[i], run));
    const args = { since_ms: sinceMs, most: MOST_QUEUES };
    const { written } = await this.runner.run(writeSamples, namespace, args, items);
    let [recentBytes, pastBytes, isPurged] = [0, 0, false];
    for (const [i, { code, ...bytes }] of written.entries()) {
      const [one, its] = [tracked[i], taken[i]];
      if (!one || !its) continue;
      if (code === WRITTEN) keep(one, its, run);
      else if (code === PURGED) isPurged = true;
      else await this.reload(one);
      recentBytes += bytes.recentBytes;
      pastBytes += bytes.pastBytes;
    }
    return { recentBytes, pastBytes, isPurged };
  }

  private async read(
    namespace: string,
    tracked: readonly Tracked[],
    interval: number,
  ): Promise<(Reading | undefined)[]> {
    const queues = tracked.map(({ queue }) => queue);
    const past = Math.floor((interval * RECENT.stepMs) / PAST.stepMs);
    const [counts, settings, now, before] = await Promise.all([
      this.reading.counts(namespace, queues),
      this.reading.settings(namespace, queues),
      this.activity(namespace, past, queues),
      this.activity(namespace, past - 1, queues),
    ]);
    return queues.map((_queue, i) => {
      const [own, ofNow, ofBefore] = [counts[i], now[i], before[i]];
      if (!own || !ofNow || !ofBefore) return undefined;
      return { counts: own, settings: settings[i] ?? null, now: ofNow, before: ofBefore };
    });
  }

  private async activity(
    namespace: string,
    slot: number,
    queues: readonly string[],
  ): Promise<QueueActivity[]> {
    const texts = await this.pool.read('HMGET', this.pool.keys.activity(namespace, slot), ...queues);
    const found = Array.isArray(texts) ? texts : [];
    return queues.map((_queue, i) => QueueActivity.ofText(typeof found[i] === 'string' ? found[i] : ''));
  }

  /** Another process has written a sample: the next one follows from that. */
  private async reload(one: Tracked): Promise<void> {
    const text = await this.pool.read('HGET', this.pool.keys.namespace(one.namespace).samples, one.queue);
    one.sample = typeof text === 'string' ? sampleOf(text) : NO_SAMPLE;
    one.previous = undefined;
    one.isBehind = typeof text === 'string';
    one.isActive = false;
  }
}

function take(one: Tracked, reading: Reading | undefined, run: Run, nowMs: number): Taken | undefined {
  if (!reading) return undefined;
  const { sample: prior } = one;
  const { interval } = run;
  const past = Math.floor((interval * RECENT.stepMs) / PAST.stepMs);
  const { counts, settings, now, before } = reading;
  const states = statesIn(counts);
  const delta = countedSince(now.counts, prior.interval === past ? prior.counts : NOTHING);
  const isActive = !isNothing(delta);
  const lastActive = isActive ? interval : prior.lastActive;
  const recentSinceMs = placeOf(one, isActive, lastActive, run);
  const endsPast = past - 1 > prior.written && !isNothing(before.counts);
  const sample: Sample = {
    ...{ atMs: Math.max(Math.floor(nowMs), prior.atMs + 1), exists: settings !== null, ...states },
    pausedAtMs: settings?.pausedAtMs ?? null,
    drainingSinceMs: settings?.drainingSinceMs ?? null,
    ...{ recentSinceMs, lastActive, interval: past, counts: now.counts, before: before.counts },
    written: endsPast ? past - 1 : prior.written,
  };
  const state = { ready: counts.ready, oldestMs: counts.oldestReadyAgeMs };
  const hasRecent = isRecentPoint(prior, sample, isActive, interval);
  const recent = hasRecent ? { interval, ...delta, ...state, ...recentQuantiles(one, past, now) } : null;
  const ended = endsPast ? { interval: past - 1, ...before.counts, ...state, ...quantiles(before) } : null;
  return {
    ...{ sample, activity: now, recent: recent && encodePoint(RECENT, recent) },
    past: ended && run.hasRoom ? encodePoint(PAST, ended) : null,
  };
}

/**
 * True if what was counted since the sample before is of one interval. A queue without points of ten seconds may have
 * had activity in intervals that ended without a sample of it.
 */
function isCountedInOne({ sample: prior, isBehind }: Tracked, interval: number): boolean {
  // guard: point-of-one-interval
  return !isBehind || prior.atMs >= interval * RECENT.stepMs;
}

/** Since when points of ten seconds are kept of the queue, 0 = they are not. The interval of the sample may have none. */
function placeOf(one: Tracked, isActive: boolean, lastActive: number, run: Run): number {
  const { recentSinceMs } = one.sample;
  if (recentSinceMs > 0) return keepsPlace(lastActive, run.interval) ? recentSinceMs : 0;
  if (!isActive || !run.takePlace()) return 0;
  return (run.interval + (isCountedInOne(one, run.interval) ? 0 : 1)) * RECENT.stepMs;
}

/**
 * True if the interval gets a point: something happened in it, or the ready jobs are others than before. Not if another
 * collector has sampled the queue since the interval ended.
 */
function isRecentPoint(prior: Sample, sample: Sample, isActive: boolean, interval: number): boolean {
  const { recentSinceMs } = sample;
  if (recentSinceMs === 0 || recentSinceMs > interval * RECENT.stepMs) return false;
  if (prior.atMs >= (interval + 1) * RECENT.stepMs) return false;
  return isActive || prior.ready !== sample.ready;
}

function recentQuantiles({ previous }: Tracked, past: number, now: QueueActivity): Quantiles {
  if (previous?.interval !== past) return quantiles(now);
  const { waits, runs } = previous.activity;
  return quantiles({ waits: now.waits.since(waits), runs: now.runs.since(runs) });
}

type Quantiles = Pick<NewPoint, 'waitP50' | 'waitP95' | 'runP50' | 'runP95'>;

function quantiles({ waits, runs }: Pick<QueueActivity, 'waits' | 'runs'>): Quantiles {
  return {
    ...{ waitP50: waits.quantile(MEDIAN), waitP95: waits.quantile(HIGH) },
    ...{ runP50: runs.quantile(MEDIAN), runP95: runs.quantile(HIGH) },
  };
}

const EMPTY = Buffer.alloc(0);

function itemOf(one: Tracked, taken: Taken | undefined, { interval, gone }: Run): Item {
  const past = Math.floor((interval * RECENT.stepMs) / PAST.stepMs);
  const { atMs } = one.sample;
  return [
    ...[one.queue, atMs === 0 ? '' : String(atMs)],
    taken === undefined || isRemoved(one, taken, gone) ? '' : sampleText(taken.sample),
    ...[slotOf(RECENT, interval), taken?.recent ?? EMPTY],
    ...[slotOf(PAST, past - 1), taken?.past ?? EMPTY],
  ];
}

/** A queue that is gone may have come back since. */
function isRemoved(one: Tracked, { sample }: Taken, gone: ReadonlySet<Tracked>): boolean {
  return gone.has(one) && !sample.exists && sample.lastActive === one.sample.lastActive;
}

function keep(one: Tracked, { sample, activity }: Taken, run: Run): void {
  one.previous = sample.recentSinceMs > 0 ? { interval: sample.interval, activity } : undefined;
  if (isRemoved(one, { sample, activity, recent: null, past: null }, run.gone)) return;
  one.sample = sample;
  one.isBehind = false;
  one.isActive = false;
}
