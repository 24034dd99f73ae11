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
    private readonly bounds: readonly number[],
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

  /** Adds the counts of another series of the same family. */
  add({ counts, sum }: HistogramCell): void {
    counts.forEach((count, i) => (this.counts[i] = (this.counts[i] ?? 0) + count));
    this.sum += sum;
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
  private readonly cells = new Set<Cell>();

  constructor(options: FamilyOptions) {
    super(settings(options));
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

  /** Ends a series, and adds its value to another one. */
  merge(cell: Cell, into: Cell): void {
    into.value += cell.value;
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

/** A histogram family over cells; `cell` and `merge` as in a counter family. */
export class HistogramFamily extends Histogram {
  private readonly series = new Set<HistogramCell>();
  private readonly seriesBounds: readonly number[];
  private readonly options: FamilyOptions;

  constructor(options: FamilyOptions & { readonly buckets: readonly number[] }) {
    super({ ...settings(options), buckets: [...options.buckets] });
    this.seriesBounds = options.buckets;
    this.options = options;
  }

  cell(labels: LabelSet): HistogramCell {
    const cell = new HistogramCell(labels, this.seriesBounds);
    this.series.add(cell);
    return cell;
  }

  merge(cell: HistogramCell, into: HistogramCell): void {
    into.add(cell);
    this.series.delete(cell);
  }

  /** Source of both of prom-client's formats, text and JSON; its own `get` calls this. */
  getForPromString() {
    const { name, help, aggregator = 'sum' } = this.options;
    const values = [...this.series].flatMap((cell) => exported(name, cell, this.seriesBounds));
    return Promise.resolve({ name, help, type: 'histogram', aggregator, values });
  }
}

function samples(cells: ReadonlySet<Cell>) {
  return [...cells].map(({ value, labels }) => ({ value, labels }));
}

/** The lines of one histogram series, in prom-client's form: its `get` merges `sharedLabels` into `labels`. */
function exported(name: string, cell: HistogramCell, bounds: readonly number[]) {
  const bucket = `${name}_bucket`;
  const line = (metricName: string, labels: Record<string, string | number>, value: number) => ({
    metricName,
    labels,
    sharedLabels: cell.labels,
    value,
  });
  let count = 0;
  const lines = bounds.map((le, i) => line(bucket, { le }, (count += cell.counts[i] ?? 0)));
  count += cell.counts[bounds.length] ?? 0;
  lines.push(line(bucket, { le: '+Inf' }, count));
  lines.push(line(`${name}_sum`, {}, cell.sum), line(`${name}_count`, {}, count));
  return lines;
}

/** How a table creates and ends the series of one key. */
export interface SeriesKind<S> {
  create(pool: string, namespace: string, queue: string): S;
  /**
   * Removes the series from the families and adds their values to those of `other`. The sum of a family never
   * decreases.
   */
  merge(series: S, other: S): void;
}

/** A key keeps its labels while idle for this long, however short it was active. */
export const IDLE_MIN_MS = 60_000;
/** After being idle for this long, a key always loses its labels. */
export const IDLE_MAX_MS = 3_600_000;
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
 * one set per pool, `other`. A key is released when it has been idle for as long as it was active before, but at least
 * a minute and at most an hour: 100,000 reply queues, each used once, are gone after a minute, while a queue that was
 * active all day may pause. The values of its counters are added to `other`; a queue that comes back starts at zero.
 */
export class SeriesTable<S> {
  private readonly entries = new Map<string, Map<string, Map<string, Entry<S>>>>();
  private readonly others = new Map<string, S>();
  private held = 0;
  private nextSweepMs = 0;

  constructor(
    private readonly limit: number,
    private readonly kind: SeriesKind<S>,
    private readonly clock: () => number = Date.now,
  ) {}

  /** Number of keys that have their own labels now. */
  get size(): number {
    return this.held;
  }

  /** The series of a key: its own, or those of `other`. Three map lookups, nothing allocated for a known key. */
  get(pool: string, namespace: string, queue: string): S {
    const nowMs = this.clock();
    const entry = this.entries.get(pool)?.get(namespace)?.get(queue);
    if (entry) {
      entry.lastSeenMs = nowMs;
      return entry.series;
    }
    return this.admit(pool, namespace, queue, nowMs);
  }

  /** True if the key has its own labels. Unlike `get` this does not count as activity. */
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

  /** Releases keys that have been idle for long enough. Called at each scrape, and when the table is full. */
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
    // A queue may really be called `other`: it shares the labels, because two equal lines would make the whole scrape
    // invalid.
    if (namespace === OTHER && (queue === OTHER || queue === '')) return this.other(pool);
    if (this.held >= this.limit && nowMs >= this.nextSweepMs) this.sweep();
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
    this.kind.merge(entry.series, this.other(entry.pool));
  }

  private *all(): Generator<Entry<S>> {
    for (const namespaces of this.entries.values()) {
      for (const queues of namespaces.values()) yield* queues.values();
    }
  }
}
