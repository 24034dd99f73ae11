/** How a table makes, hides and shows again the series of one key. */
export interface SeriesKind<S> {
  create(pool: string, namespace: string, queue: string): S;
  /** Takes the series out of the families; their values stay in `series`. */
  hide(series: S): void;
  /** Puts hidden series back into the families, with the values they had: a counter never goes back. */
  show(series: S): void;
}

/** A key keeps its labels through a pause of this length, however short its life was. */
export const IDLE_MIN_MS = 60_000;
/** No pause longer than this is bridged. */
export const IDLE_MAX_MS = 3_600_000;
/** What stands for everything that has no labels of its own. */
export const OTHER = 'other';

interface Entry<S> {
  readonly pool: string;
  readonly namespace: string;
  readonly queue: string;
  readonly series: S;
  readonly firstSeenMs: number;
  lastSeenMs: number;
}

/**
 * Bounds the number of series: at most `limit` keys (pool, namespace, queue) have labels of their own, all others share one
 * set per pool, `other`. A key is given back when it has been quiet as long as it had been busy before, within one minute and
 * one hour: 100,000 reply queues, each used once, are gone after a minute, while a queue that has worked all day may pause. Its
 * counters are kept aside (the last `limit` of them), so that a queue that comes back goes on from where it was.
 */
export class SeriesTable<S> {
  private readonly entries = new Map<string, Map<string, Map<string, Entry<S>>>>();
  private readonly others = new Map<string, S>();
  private readonly retired = new Map<string, S>();
  private held = 0;
  private nextSweepMs = 0;

  constructor(
    private readonly limit: number,
    private readonly kind: SeriesKind<S>,
    private readonly clock: () => number = Date.now,
  ) {}

  /** How many keys have labels of their own now. */
  get size(): number {
    return this.held;
  }

  /** The series of a key: its own, or those of `other`. Three map look-ups, nothing allocated for a known key. */
  get(pool: string, namespace: string, queue: string): S {
    const nowMs = this.clock();
    const entry = this.entries.get(pool)?.get(namespace)?.get(queue);
    if (entry) {
      entry.lastSeenMs = nowMs;
      return entry.series;
    }
    return this.admit(pool, namespace, queue, nowMs);
  }

  /** True if the key has labels of its own. Unlike `get` this does not count as use. */
  has(pool: string, namespace: string, queue: string): boolean {
    return this.entries.get(pool)?.get(namespace)?.has(queue) ?? false;
  }

  /** The shared series of a pool. */
  other(pool: string): S {
    let series = this.others.get(pool);
    if (series === undefined) {
      series = this.kind.create(pool, OTHER, OTHER);
      this.others.set(pool, series);
    }
    return series;
  }

  /** Gives back the keys that have been quiet for long enough. Called at each scrape, and when the table is full. */
  sweep(): void {
    const nowMs = this.clock();
    this.nextSweepMs = nowMs + 1_000;
    for (const entry of this.all()) {
      const busyMs = entry.lastSeenMs - entry.firstSeenMs;
      const allowedMs = Math.min(Math.max(busyMs, IDLE_MIN_MS), IDLE_MAX_MS);
      if (nowMs - entry.lastSeenMs >= allowedMs) this.retire(entry);
    }
  }

  private admit(pool: string, namespace: string, queue: string, nowMs: number): S {
    // A queue may really be called `other`: it shares the labels, since two equal lines would spoil the whole scrape.
    if (namespace === OTHER && (queue === OTHER || queue === '')) return this.other(pool);
    if (this.held >= this.limit && nowMs >= this.nextSweepMs) this.sweep();
    if (this.held >= this.limit) return this.other(pool);
    const series = this.revived(pool, namespace, queue) ?? this.kind.create(pool, namespace, queue);
    this.hold({ pool, namespace, queue, series, firstSeenMs: nowMs, lastSeenMs: nowMs });
    return series;
  }

  private hold(entry: Entry<S>): void {
    const namespaces = this.entries.get(entry.pool) ?? new Map<string, Map<string, Entry<S>>>();
    this.entries.set(entry.pool, namespaces);
    const queues = namespaces.get(entry.namespace) ?? new Map<string, Entry<S>>();
    namespaces.set(entry.namespace, queues);
    queues.set(entry.queue, entry);
    this.held += 1;
  }

  private retire(entry: Entry<S>): void {
    const queues = this.entries.get(entry.pool)?.get(entry.namespace);
    queues?.delete(entry.queue);
    if (queues?.size === 0) this.entries.get(entry.pool)?.delete(entry.namespace);
    this.held -= 1;
    this.kind.hide(entry.series);
    this.retired.set(key(entry.pool, entry.namespace, entry.queue), entry.series);
    for (const oldest of this.retired.keys()) {
      if (this.retired.size <= this.limit) break;
      this.retired.delete(oldest);
    }
  }

  private revived(pool: string, namespace: string, queue: string): S | undefined {
    const name = key(pool, namespace, queue);
    const series = this.retired.get(name);
    if (series === undefined) return undefined;
    this.retired.delete(name);
    this.kind.show(series);
    return series;
  }

  private *all(): Generator<Entry<S>> {
    for (const namespaces of this.entries.values()) {
      for (const queues of namespaces.values()) yield* queues.values();
    }
  }
}

/** No name holds a slash. */
function key(pool: string, namespace: string, queue: string): string {
  return `${pool}/${namespace}/${queue}`;
}
