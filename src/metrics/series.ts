import { type Aggregator, Counter, Gauge, Histogram, type Registry } from 'prom-client';

/*
 * Counting costs one addition here: prom-client's own children build a key string and check the labels at each call,
 * which takes 0.3–1 µs, several times per job. So the counting code keeps a cell and adds to it; the family reads its
 * cells at a scrape. For prom-client these are normal counters, gauges and histograms: it provides registries, text
 * format and aggregation.
 */

/** Options of a metric family, as declared in `metrics.ts`. */
export interface FamilyOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registry: Registry;
  /** How the values of several processes are combined; default `sum`. */
  readonly aggregator?: Aggregator;
}

export type LabelSet = Readonly<Record<string, string>>;

/** One series of a counter or gauge. */
export class Cell {
  value = 0;

  constructor(readonly labels: LabelSet) {}
}

/** One series of a histogram: counts per bucket, not cumulative; the last one is for values above every bound. */
export class HistogramCell {
  readonly counts: Float64Array;
  sum = 0;

  constructor(
    readonly labels: LabelSet,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Counts one value. Ignores NaN: a wrong clock must not spoil the sum for good. */
  observe(value: number): void {
    if (value !== value) return;
    const { bounds } = this;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] ?? Infinity)) i += 1;
    this.counts[i] = (this.counts[i] ?? 0) + 1;
    this.sum += value;
  }
}

const settings = ({ name, help, labelNames, registry, aggregator = 'sum' }: FamilyOptions) => ({
  name,
  help,
  labelNames,
  registers: [registry],
  aggregator,
});

/** A counter family over cells. */
export class CounterFamily extends Counter {
  private readonly cells: Set<Cell>;

  /** @param source family whose cells this one shows under another name, so that one addition counts for both */
  constructor(options: FamilyOptions, source?: CounterFamily) {
    super(settings(options));
    this.cells = source?.cells ?? new Set();
  }

  /**
   * Creates a series. The caller keeps it, and creates one per label set: two cells with the same labels would be two
   * equal lines.
   */
  cell(labels: LabelSet): Cell {
    const cell = new Cell(labels);
    this.cells.add(cell);
    return cell;
  }

  /** Ends a series. */
  end(cell: Cell): void {
    // guard: counter-series-removed
    this.cells.delete(cell);
  }

  override async get() {
    return { ...(await super.get()), values: samples(this.cells) };
  }
}

/**
 * A gauge family over cells; `cell` as in a counter family. Gauges that only a scrape sets are prom-client's own
 * (`gauges.ts`).
 */
export class GaugeFamily extends Gauge {
  private readonly cells = new Set<Cell>();

  constructor(options: FamilyOptions) {
    super(settings(options));
  }

  cell(labels: LabelSet): Cell {
    const cell = new Cell(labels);
    this.cells.add(cell);
    return cell;
  }

  override async get() {
    return { ...(await super.get()), values: samples(this.cells) };
  }
}

/** Buckets of a histogram family, and how they relate to the counted values. */
export interface HistogramOptions extends FamilyOptions {
  /** Upper bounds, in the family's unit. */
  readonly buckets: readonly number[];
  /** How many of the counted units are one of the family: 1,000 if milliseconds are counted and seconds shown. Default 1. */
  readonly unit?: number;
  /** Bounds that the cells need for other families that show them, in the counted unit. */
  readonly moreBounds?: readonly number[];
}

/** A histogram family over cells; `cell`, `end` and `source` as in a counter family. */
export class HistogramFamily extends Histogram {
  private readonly series: Set<HistogramCell>;
  /** Bounds of the cells, in the counted unit. */
  private readonly bounds: readonly number[];
  /** For each bucket its `le`, and how many of a cell's counts it sums up. */
  private readonly shown: readonly { readonly le: number; readonly end: number }[];
  private readonly options: HistogramOptions;

  constructor(options: HistogramOptions, source?: HistogramFamily) {
    super({ ...settings(options), buckets: [...options.buckets] });
    const { buckets, unit = 1, moreBounds = [] } = options;
    this.series = source?.series ?? new Set();
    const own = buckets.map((le) => le * unit);
    this.bounds = source?.bounds ?? [...new Set([...own, ...moreBounds])].sort((a, b) => a - b);
    this.shown = buckets.map((le, i) => ({ le, end: this.bounds.indexOf(own[i] ?? NaN) + 1 }));
    if (this.shown.some(({ end }) => end === 0)) throw new Error(`${options.name}: its source lacks a bound`);
    this.options = options;
  }

  cell(labels: LabelSet): HistogramCell {
    const cell = new HistogramCell(labels, this.bounds);
    this.series.add(cell);
    return cell;
  }

  end(cell: HistogramCell): void {
    // guard: histogram-series-removed
    this.series.delete(cell);
  }

  /** Source of both of prom-client's formats, text and JSON; its own `get` calls this. */
  getForPromString() {
    const { name, help, aggregator = 'sum' } = this.options;
    const values = [...this.series].flatMap((cell) => this.exported(cell));
    return Promise.resolve({ name, help, type: 'histogram', aggregator, values });
  }

  /** The lines of one series, in prom-client's form: its `get` merges `sharedLabels` into `labels`. */
  private exported({ labels: sharedLabels, counts, sum }: HistogramCell) {
    const { name, unit = 1 } = this.options;
    const line = (metricName: string, labels: Record<string, string | number>, value: number) => ({
      metricName,
      labels,
      sharedLabels,
      value,
    });
    let [count, next] = [0, 0];
    const countTo = (end: number): number => {
      for (; next < end; next++) count += counts[next] ?? 0;
      return count;
    };
    const lines = this.shown.map(({ le, end }) => line(`${name}_bucket`, { le }, countTo(end)));
    const all = countTo(counts.length);
    lines.push(line(`${name}_bucket`, { le: '+Inf' }, all));
    lines.push(line(`${name}_sum`, {}, sum / unit), line(`${name}_count`, {}, all));
    return lines;
  }
}

function samples(cells: ReadonlySet<Cell>) {
  return [...cells].map(({ value, labels }) => ({ value, labels }));
}

/** How a table creates and ends the series of one key. */
export interface SeriesKind<S> {
  create(pool: string, namespace: string, queue: string): S;
  /** Removes the series from the families. */
  end(series: S): void;
}

/** A key that has been idle for this long loses its labels. */
export const IDLE_MS = 3_600_000;
/** While no place is free, a key keeps its labels for at least this long while idle, however short it was active. */
export const IDLE_MIN_MS = 60_000;
/** Label of all keys without their own labels. */
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
 * Limits the number of series: at most `limit` keys (pool, namespace, queue) have their own labels, all others share
 * one set per pool, `other`. A key is released when it has been idle for an hour. If a new key finds no free place,
 * keys are released that have been idle for as long as they were active before, but at least a minute: reply queues,
 * each used once, must not keep the places of others for an hour. The counters of a released key end. They are not
 * added to `other`: in one scrape that would be the jobs of days, and a rate over `other` would show them as traffic.
 * A queue that comes back starts at zero.
 */
export class SeriesTable<S> {
  private readonly entries = new Map<string, Map<string, Map<string, Entry<S>>>>();
  private readonly others = new Map<string, S>();
  private last: Entry<S> | undefined;
  private held = 0;
  private nextMakeRoomMs = 0;

  constructor(
    private readonly limit: number,
    private readonly kind: SeriesKind<S>,
    private readonly clock: () => number = Date.now,
  ) {}

  /** Number of keys that have their own labels now. */
  get size(): number {
    return this.held;
  }

  /**
   * The series of a key: its own, or those of `other`. Nothing is allocated for a known key. The key of the call before
   * is compared first, as what happens to a job is counted in a row; any other costs three map lookups.
   */
  get(pool: string, namespace: string, queue: string): S {
    const nowMs = this.clock();
    const { last } = this;
    const entry =
      last?.queue === queue && last.namespace === namespace && last.pool === pool
        ? last
        : this.entries.get(pool)?.get(namespace)?.get(queue);
    if (entry) {
      this.last = entry;
      entry.lastSeenMs = nowMs;
      return entry.series;
    }
    return this.admit(pool, namespace, queue, nowMs);
  }

  /** True if the key has its own labels. Unlike `get` this does not count as activity. */
  has(pool: string, namespace: string, queue: string): boolean {
    return this.peek(pool, namespace, queue) !== undefined;
  }

  /** The own series of a key, if it has any. Unlike `get` this does not count as activity. */
  peek(pool: string, namespace: string, queue: string): S | undefined {
    return this.entries.get(pool)?.get(namespace)?.get(queue)?.series;
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

  /** Releases keys that have been idle for an hour. Called at each scrape. */
  sweep(): void {
    this.release(() => IDLE_MS);
  }

  /** Releases keys that have been idle for as long as they were active; at most once a second, as it visits all keys. */
  private makeRoom(nowMs: number): void {
    if (nowMs < this.nextMakeRoomMs) return;
    this.nextMakeRoomMs = nowMs + 1_000;
    this.release(({ firstSeenMs, lastSeenMs }) =>
      Math.min(Math.max(lastSeenMs - firstSeenMs, IDLE_MIN_MS), IDLE_MS),
    );
  }

  private release(allowedMs: (entry: Entry<S>) => number): void {
    const nowMs = this.clock();
    for (const entry of this.all()) {
      if (nowMs - entry.lastSeenMs >= allowedMs(entry)) this.retire(entry);
    }
  }

  private admit(pool: string, namespace: string, queue: string, nowMs: number): S {
    // A queue may really be called `other`: it shares the labels, because two equal lines would make the whole scrape
    // invalid.
    if (namespace === OTHER && (queue === OTHER || queue === '')) return this.other(pool);
    if (this.held >= this.limit) this.makeRoom(nowMs);
    // guard: queue-series-bounded
    if (this.held >= this.limit) return this.other(pool);
    const series = this.kind.create(pool, namespace, queue);
    this.store({ pool, namespace, queue, series, firstSeenMs: nowMs, lastSeenMs: nowMs });
    return series;
  }

  private store(entry: Entry<S>): void {
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
    this.last = undefined;
    this.kind.end(entry.series);
  }

  private *all(): Generator<Entry<S>> {
    for (const namespaces of this.entries.values()) {
      for (const queues of namespaces.values()) yield* queues.values();
    }
  }
}
