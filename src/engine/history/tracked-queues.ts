import type { QueueActivity } from './counts.js';
import { PAST, RECENT } from './points.js';
import { NO_SAMPLE, type Sample } from './samples.js';

/** Queues of which points of ten seconds are kept. */
export const MOST_RECENT = 500;
/** Queues that are sampled, over all namespaces. */
export const MOST_TRACKED = 100_000;
/** Queues of a namespace that are gone and still have a sample. */
const MOST_GONE = 1_000;
/** Most queues that one run samples: those that changed, those never sampled, and those sampled longest ago. */
const MOST_CHANGED = 1_000;
const MOST_NEW = 500;
const MOST_IDLE = 100;
/** A queue without activity gives up its place among those with points of ten seconds, or its sample if it is gone. In intervals of ten seconds. */
const PLACE_INTERVALS = RECENT.kept;
const GONE_INTERVALS = 8_640;
/** Jobs that become due change a queue without a call: such a queue counts as sampled so much earlier, in milliseconds. */
const TIMERS_MS = 60_000;
/** In how many parts the other queues are sampled in turn: one each ten seconds of the five minutes. */
const TURNS = PAST.stepMs / RECENT.stepMs;

/** A queue that is sampled. */
export interface Tracked {
  readonly namespace: string;
  readonly queue: string;
  sample: Sample;
  /** The last two intervals of five minutes in which activity was seen, the later one first. */
  activeIn: readonly [number, number];
  /** True if it had activity in the interval of ten seconds that ended last, and no sample since. */
  isActive: boolean;
  /** True: its sample may lack activity of intervals that ended after it. */
  isBehind: boolean;
  /** Its activity in an interval of five minutes, as it was read last. Only of queues with points of ten seconds. */
  previous: { readonly interval: number; readonly activity: QueueActivity } | undefined;
}

/** Knows which queues there are, and which of them are to be sampled now. */
export class TrackedQueues {
  private readonly byNamespace = new Map<string, Map<string, Tracked>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** How many have points of ten seconds. */
  get recent(): number {
    let recent = 0;
    for (const one of this.all()) if (one.sample.recentSinceMs > 0) recent += 1;
    return recent;
  }

  /** The queue; undefined: there are too many. */
  of(namespace: string, queue: string): Tracked | undefined {
    const known = this.byNamespace.get(namespace)?.get(queue);
    if (known || this.count >= MOST_TRACKED) return known;
    let queues = this.byNamespace.get(namespace);
    if (!queues) this.byNamespace.set(namespace, (queues = new Map<string, Tracked>()));
    const tracked = {
      ...{ namespace, queue, sample: NO_SAMPLE, isActive: false, isBehind: false, previous: undefined },
      activeIn: [0, 0] as const,
    };
    queues.set(queue, tracked);
    this.count += 1;
    return tracked;
  }

  remove({ namespace, queue }: Tracked): void {
    const queues = this.byNamespace.get(namespace);
    if (!queues?.delete(queue)) return;
    this.count -= 1;
    if (queues.size === 0) this.byNamespace.delete(namespace);
  }

  forget(namespace: string): void {
    this.count -= this.byNamespace.get(namespace)?.size ?? 0;
    this.byNamespace.delete(namespace);
  }

  *all(): Generator<Tracked> {
    for (const queues of this.byNamespace.values()) yield* queues.values();
  }

  /**
   * Those to sample after an interval of ten seconds: with points of that step if they had activity; others in turn,
   * once after each five minutes with activity; new ones; and, as they may have changed in another way, those that
   * were sampled longest ago.
   *
   * @param places how many more queues may get points of ten seconds
   */
  choose(interval: number, nowMs: number, places: number): Tracked[] {
    const past = Math.floor((interval * RECENT.stepMs) / PAST.stepMs);
    const turn = interval % TURNS;
    const changed: Tracked[] = [];
    const fresh: Tracked[] = [];
    const idle: Tracked[] = [];
    for (const one of this.all()) {
      const { sample } = one;
      const isDue = one.activeIn.includes(past - 1) && sample.written < past - 1;
      const hasPlace = sample.recentSinceMs > 0 || (one.isActive && sample.atMs > 0 && places-- > 0);
      if (one.isActive && hasPlace) changed.push(one);
      else if (sample.atMs === 0) fresh.push(one);
      else if (isDue && (sample.recentSinceMs > 0 || turnOf(one) <= turn)) changed.push(one);
      else idle.push(one);
    }
    fresh.sort((one, other) => Number(other.isActive) - Number(one.isActive));
    idle.sort((one, other) => lastReadMs(one, nowMs) - lastReadMs(other, nowMs));
    return [
      ...changed.slice(0, MOST_CHANGED),
      ...fresh.slice(0, MOST_NEW),
      ...idle.slice(0, MOST_IDLE).filter(({ sample }) => sample.atMs < nowMs - RECENT.stepMs / 2),
    ];
  }

  /** Queues that are gone and have had no activity for a day, or are too many of their namespace. */
  gone(interval: number): Set<Tracked> {
    const gone = new Set<Tracked>();
    for (const queues of this.byNamespace.values()) {
      const candidates = [...queues.values()].filter(({ sample }) => sample.atMs > 0 && !sample.exists);
      candidates.sort((one, other) => other.sample.lastActive - one.sample.lastActive);
      for (const [i, one] of candidates.entries())
        // guard: samples-of-gone-queues-bounded
        if (i >= MOST_GONE || interval - one.sample.lastActive > GONE_INTERVALS) gone.add(one);
    }
    return gone;
  }
}

/** Records that a queue had activity in an interval of five minutes. */
export function recordActivity(one: Tracked, past: number): void {
  one.isActive = true;
  const [last] = one.activeIn;
  if (past > last) one.activeIn = [past, last];
}

/** True if a queue keeps its place among those with points of ten seconds. */
export function keepsPlace(lastActive: number, interval: number): boolean {
  return interval - lastActive <= PLACE_INTERVALS;
}

/** When a queue was sampled, as if earlier if jobs of it become due. */
function lastReadMs({ sample }: Tracked, nowMs: number): number {
  const hasTimers = sample.scheduled > 0 || sample.leased > 0;
  return hasTimers && sample.atMs < nowMs - RECENT.stepMs ? sample.atMs - TIMERS_MS : sample.atMs;
}

/** The part of five minutes in which a queue is sampled: they spread evenly. */
function turnOf({ namespace, queue }: Tracked): number {
  let hash = 0;
  for (const character of `${namespace}/${queue}`)
    hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return hash % TURNS;
}
