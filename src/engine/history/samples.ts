import type { QueueCounts } from '../../domain/job/job.js';
import { type Counted, COUNTED, countedOf, NOTHING } from './counts.js';
import { PAST } from './points.js';

/** Jobs of a queue by state, as a sample has them, in the order of the store. */
const STATES = [
  ...(['ready', 'scheduled', 'leased', 'dead', 'blocked', 'stuck', 'held', 'done', 'cancelled'] as const),
];
type State = (typeof STATES)[number];

/** A queue at a moment. Times are Unix ms. */
export interface Sample extends Record<State, number> {
  readonly atMs: number;
  /** False: nothing of the queue was stored at that moment. */
  readonly exists: boolean;
  /** When the oldest ready job was published; 0 = none is ready. */
  readonly oldestAtMs: number;
  readonly pausedAtMs: number | null;
  readonly drainingSinceMs: number | null;
  /** Since when points of ten seconds are kept of it; 0 = they are not. */
  readonly recentSinceMs: number;
  /** The last interval of ten seconds with activity. */
  readonly lastActive: number;
  /** The interval of five minutes that `counts` are of. */
  readonly interval: number;
  /** What was counted in that interval so far, and in the one before. */
  readonly counts: Counted;
  readonly before: Counted;
  /** The last interval of five minutes whose point was written. */
  readonly written: number;
}

/** A sample of a queue of which nothing is known yet. */
export const NO_SAMPLE: Sample = {
  ...{ atMs: 0, exists: false, oldestAtMs: 0, pausedAtMs: null, drainingSinceMs: null, recentSinceMs: 0 },
  ...{ ready: 0, scheduled: 0, leased: 0, dead: 0, blocked: 0, stuck: 0, held: 0, done: 0, cancelled: 0 },
  ...{ lastActive: 0, interval: 0, counts: NOTHING, before: NOTHING, written: 0 },
};

/** Numbers with commas; the time comes first: the script that writes samples compares it. */
export function sampleText(sample: Sample): string {
  return [
    sample.atMs,
    sample.exists ? 1 : 0,
    ...STATES.map((state) => sample[state]),
    ...[sample.oldestAtMs, sample.pausedAtMs ?? 0, sample.drainingSinceMs ?? 0],
    ...[sample.recentSinceMs, sample.lastActive, sample.interval],
    ...COUNTED.map((name) => sample.counts[name]),
    ...COUNTED.map((name) => sample.before[name]),
    sample.written,
  ].join(',');
}

/** Reads such a text. Numbers that it lacks are 0, further ones are ignored: a later version may add some. */
export function sampleOf(text: string): Sample {
  const texts = text.split(',');
  const numbers = texts.map(Number).values();
  const next = (): number => numbers.next().value ?? 0;
  const [atMs, exists] = [next(), next() === 1];
  const states = Object.fromEntries(STATES.map((state) => [state, next()])) as Record<State, number>;
  const [oldestAtMs, pausedAtMs, drainingSinceMs] = [next(), next(), next()];
  const [recentSinceMs, lastActive, interval] = [next(), next(), next()];
  const counts = countedOf(COUNTED.map(() => String(next())));
  const before = countedOf(COUNTED.map(() => String(next())));
  return {
    ...{ atMs, exists, ...states, oldestAtMs, recentSinceMs, lastActive, interval, counts, before },
    ...{ pausedAtMs: pausedAtMs || null, drainingSinceMs: drainingSinceMs || null, written: next() },
  };
}

/** What the counts of a queue's jobs say of a sample. */
export function statesIn(counts: QueueCounts): Record<State | 'oldestAtMs', number> {
  const states = Object.fromEntries(STATES.map((state) => [state, counts[state]])) as Record<State, number>;
  return { ...states, oldestAtMs: counts.oldestReadyAtMs };
}

/** About what happened a second, over the last five minutes. */
export function ratesOf(sample: Sample, nowMs: number): Counted {
  const { stepMs } = PAST;
  const passed = (nowMs % stepMs) / stepMs;
  const behind = Math.floor(nowMs / stepMs) - sample.interval;
  const rates = { ...NOTHING };
  for (const name of COUNTED) {
    const [now, before] =
      behind === 0 ? [sample.counts[name], sample.before[name]] : [0, behind === 1 ? sample.counts[name] : 0];
    rates[name] = ((now + before * (1 - passed)) * 1_000) / stepMs;
  }
  return rates;
}
