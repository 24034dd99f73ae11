import { Counter, Gauge, Histogram } from 'prom-client';
import type { Aggregator, Registry } from 'prom-client';

/*
 * Counting costs a field's addition here: prom-client's own children build a key string and check the labels at each call, which
 * is 0.3–1 µs, several times per job. So who counts holds a cell and adds to it; the family reads its cells when it is scraped.
 * To prom-client these are its own counters, gauges and histograms: registries, text format and aggregation are its.
 */

/** One family of metrics, as declared in `metrics.ts`. */
export interface FamilyOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registry: Registry;
  /** How the values of several processes become one; `sum` when left out. */
  readonly aggregator?: Aggregator;
}

export type LabelSet = Readonly<Record<string, string>>;

/** One series of a counter or gauge. */
export class Cell {
  value = 0;

  constructor(readonly labels: LabelSet) {}
}

/** One series of a histogram: counts per bucket, not cumulated, the last for what is above every bound. */
export class HistogramCell {
  readonly counts: Float64Array;
  sum = 0;

  constructor(
    readonly labels: LabelSet,
    private readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Counts one value. A NaN is ignored: a wrong clock must not spoil the sum for ever. */
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
  private readonly cells = new Set<Cell>();

  constructor(options: FamilyOptions) {
    super(settings(options));
  }

  /** A new series. The caller keeps it and asks once per label set: two cells of the same labels would be two equal lines. */
  cell(labels: LabelSet): Cell {
    const cell = new Cell(labels);
    this.cells.add(cell);
    return cell;
  }

  /** Shows a cell that was dropped again, with the value that it has. */
  restore(cell: Cell): void {
    this.cells.add(cell);
  }

  drop(cell: Cell): void {
    this.cells.delete(cell);
  }

  override async get() {
    return { ...(await super.get()), values: samples(this.cells) };
  }
}

/** A gauge family over cells; `cell` and `drop` as in a counter family. */
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

  drop(cell: Cell): void {
    this.cells.delete(cell);
  }

  override async get() {
    return { ...(await super.get()), values: samples(this.cells) };
  }
}

/** A histogram family over cells; `cell`, `restore` and `drop` as in a counter family. */
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

  restore(cell: HistogramCell): void {
    this.series.add(cell);
  }

  drop(cell: HistogramCell): void {
    this.series.delete(cell);
  }

  /** What both of prom-client's readers, text and JSON, are made from; its own `get` calls this. */
  getForPromString() {
    const { name, help, aggregator = 'sum' } = this.options;
    const values = [...this.series].flatMap((cell) => exported(name, cell, this.seriesBounds));
    return Promise.resolve({ name, help, type: 'histogram', aggregator, values });
  }
}

function samples(cells: ReadonlySet<Cell>) {
  return [...cells].map(({ value, labels }) => ({ value, labels }));
}

/** The lines of one histogram series. The shape is prom-client's: its `get` folds `sharedLabels` into `labels`. */
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
