import { type Counted, COUNTED } from './counts.js';
import { middleOf } from './log-bins.js';

/** What is kept of a queue and an interval. */
export interface Point extends Counted {
  /** Number of the interval: Unix time by its length. */
  readonly interval: number;
  /** Ready jobs at its end. */
  readonly ready: number;
  /** Age of the oldest ready job at its end, in milliseconds. */
  readonly oldestMs: number;
  /** Quantiles of the time from publish to lease and from lease to acknowledgement; null: there was none. Milliseconds. */
  readonly waitP50Ms: number | null;
  readonly waitP95Ms: number | null;
  readonly runP50Ms: number | null;
  readonly runP95Ms: number | null;
}

/** A point before it is stored: quantiles as bins. */
export interface NewPoint extends Counted {
  readonly interval: number;
  readonly ready: number;
  readonly oldestMs: number;
  readonly waitP50: number | null;
  readonly waitP95: number | null;
  readonly runP50: number | null;
  readonly runP95: number | null;
}

/** A kind of points: how long their intervals are, and how many intervals a key has. */
export interface Step {
  readonly stepMs: number;
  readonly inSlot: number;
  /** How many intervals are kept. */
  readonly kept: number;
}

/** Points of the last hour. */
export const RECENT: Step = { stepMs: 10_000, inSlot: 30, kept: 360 };
/** Points of the last week. */
export const PAST: Step = { stepMs: 300_000, inSlot: 72, kept: 2_016 };

const AGE_STEP_MS = 100;
const VALUES = 12;
const SEVEN_BITS = 128;

/** The slot of an interval: a key has the points of one. */
export function slotOf({ inSlot }: Step, interval: number): number {
  return Math.floor(interval / inSlot);
}

/**
 * A point as bytes: the interval's place in its slot, the counts, jobs, age and quantiles, each in seven bits a byte,
 * the lowest first. Most points have 12 to 16 bytes, and stand one behind the other.
 */
export function encodePoint(step: Step, point: NewPoint): Buffer {
  const bytes: number[] = [];
  const quantiles = [point.waitP50, point.waitP95, point.runP50, point.runP95];
  const values = [
    point.interval % step.inSlot,
    ...COUNTED.map((name) => point[name]),
    point.ready,
    Math.round(point.oldestMs / AGE_STEP_MS),
    ...quantiles.map((bin) => (bin === null ? 0 : bin + 1)),
  ];
  for (const value of values) addNumber(bytes, value);
  return Buffer.from(bytes);
}

/** The points of a slot. Of two of an interval the last one counts; bytes that are no whole point are left out. */
export function decodePoints(step: Step, slot: number, bytes: Buffer): Map<number, Point> {
  const points = new Map<number, Point>();
  const reader = { at: 0, bytes };
  while (reader.at < bytes.length) {
    const values: number[] = [];
    while (values.length < VALUES && reader.at < bytes.length) values.push(readNumber(reader));
    if (values.length < VALUES) break;
    const interval = slot * step.inSlot + (values[0] ?? 0);
    points.set(interval, pointOf(interval, values));
  }
  return points;
}

function pointOf(interval: number, values: readonly number[]): Point {
  const [, published = 0, leased = 0, acked = 0, failed = 0, died = 0, ready = 0, oldest = 0, ...bins] =
    values;
  const [waitP50Ms = null, waitP95Ms = null, runP50Ms = null, runP95Ms = null] = bins.map((bin) =>
    bin === 0 ? null : middleOf(bin - 1),
  );
  return {
    ...{ interval, published, leased, acked, failed, died, ready, oldestMs: oldest * AGE_STEP_MS },
    ...{ waitP50Ms, waitP95Ms, runP50Ms, runP95Ms },
  };
}

function addNumber(bytes: number[], value: number): void {
  let left = Math.max(Math.trunc(value), 0);
  while (left >= SEVEN_BITS) {
    bytes.push((left % SEVEN_BITS) + SEVEN_BITS);
    left = Math.floor(left / SEVEN_BITS);
  }
  bytes.push(left);
}

function readNumber(reader: { at: number; readonly bytes: Buffer }): number {
  let [value, factor] = [0, 1];
  for (;;) {
    const byte = reader.bytes[reader.at++] ?? 0;
    value += (byte % SEVEN_BITS) * factor;
    if (byte < SEVEN_BITS) return value;
    factor *= SEVEN_BITS;
  }
}
