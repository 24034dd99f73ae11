import { AggregatorRegistry } from 'prom-client';
import type { MetricFamily, MetricLine, MetricsSnapshot } from './metrics.service.js';
import { OTHER, SeriesTable } from './series.js';

/** What one process has reported. */
interface Process {
  /** Number of the newest answer. */
  answer: number;
  /** The values of its counters and histograms in that answer. */
  last: ReadonlyMap<string, number>;
  /** Its other families, in that answer. */
  current: readonly MetricFamily[];
}

interface Line {
  readonly family: string;
  readonly metricName: string | undefined;
  readonly labels: MetricLine['labels'];
  value: number;
}

/** The sums of one key, by family and labels. */
interface Group {
  readonly isShared: boolean;
  readonly lines: Map<string, Line>;
}

/** What a line counts: the traffic of a queue, a push target, a namespace or the process. */
interface Place {
  readonly table: SeriesTable<Group> | undefined;
  readonly pool: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The metrics of several processes as one. Gauges are combined by their aggregators, from the last answer of each
 * process that lives: a process that is late does not change them. Counters and histograms are sums of what each answer
 * added to the one before. So they never fall while this process lives: not when an API process is late, or ends, or releases
 * the labels of a queue that is idle there only. This class alone decides which queues have labels: `limit` of them,
 * each for an hour after its last traffic in any process.
 */
export class ClusterTotals {
  private readonly processes = new Map<number, Process>();
  private readonly ended = new Set<number>();
  /** Counters and histograms, without values. */
  private readonly families = new Map<string, MetricFamily>();
  private readonly groups = new Set<Group>();
  /** The lines of no queue, target or namespace. */
  private readonly own = this.group(false);
  private readonly queues: SeriesTable<Group>;
  private readonly targets: SeriesTable<Group>;
  private readonly namespaces: SeriesTable<Group>;

  /** @param limit queues with their own labels; also the limit for targets and for namespaces */
  constructor(limit: number, clock: () => number = Date.now) {
    const table = (): SeriesTable<Group> =>
      new SeriesTable(
        limit,
        {
          create: (_pool, namespace) => this.group(namespace === OTHER),
          end: (group) => this.groups.delete(group),
        },
        clock,
      );
    [this.queues, this.targets, this.namespaces] = [table(), table(), table()];
  }

  /**
   * Takes an answer of a process.
   *
   * @param answer its number; one that is not above the last of the process is ignored, and all of an ended process
   */
  add(id: number, answer: number, snapshot: MetricsSnapshot): void {
    const process = this.processes.get(id) ?? { answer: 0, last: new Map(), current: [] };
    if (
      /* guard: late-totals-count-once */ answer <= process.answer /* guard: ended-process-counts-once */ ||
      this.ended.has(id)
    )
      return;
    const isSummed = ({ type }: MetricFamily): boolean => type === 'counter' || type === 'histogram';
    const last = this.addUp(snapshot.filter(isSummed), process.last);
    this.processes.set(id, { answer, last, current: snapshot.filter((family) => !isSummed(family)) });
  }

  /** A process has ended: its gauges go, what it has counted stays. */
  end(id: number): void {
    // guard: ended-process-gauges-removed
    this.processes.delete(id);
    this.ended.add(id);
  }

  /** All metrics in Prometheus's text format. */
  text(): Promise<string> {
    for (const table of [this.queues, this.targets, this.namespaces]) table.sweep();
    const current = [...this.processes.values()].map((process) => [...process.current]);
    return AggregatorRegistry.aggregate([this.sums(), ...current]).metrics();
  }

  /** @returns the values of these families, for the next answer */
  private addUp(families: readonly MetricFamily[], last: Process['last']): Process['last'] {
    const next = new Map<string, number>();
    const unchanged: { readonly key: string; readonly family: MetricFamily; readonly line: MetricLine }[] =
      [];
    for (const family of families) {
      if (!this.families.has(family.name)) this.families.set(family.name, { ...family, values: [] });
      for (const series of seriesOf(family)) {
        const lines = series.map((line) => ({ key: keyOf(family.name, line), family, line }));
        // The process has released the labels since its last answer, and counts from zero again.
        const isNew = lines.some(({ key, line }) => line.value < (last.get(key) ?? 0));
        for (const { key, line } of lines) {
          next.set(key, line.value);
          const more =
            line.value -
            /* guard: cluster-sum-adds-differences */ (isNew
              ? /* guard: released-queue-counts-from-zero */ 0
              : (last.get(key) ?? 0));
          if (more === 0) unchanged.push({ key, family, line });
          else this.count(this.busyGroup(line), key, family, line, more);
        }
      }
    }
    // Only now it is known which keys have labels.
    for (const { key, family, line } of unchanged) this.count(this.knownGroup(line), key, family, line, 0);
    return next;
  }

  private count(
    group: Group | undefined,
    key: string,
    family: MetricFamily,
    line: MetricLine,
    more: number,
  ): void {
    if (!group) return;
    const labels = /* guard: labels-of-all-processes-are-bounded */ group.isShared
      ? sharedLabels(line.labels)
      : line.labels;
    const place = group.isShared ? keyOf(family.name, { ...line, labels }) : key;
    const sum = group.lines.get(place);
    if (sum) sum.value += more;
    else group.lines.set(place, { family: family.name, metricName: line.metricName, labels, value: more });
  }

  /** The group of a line that has grown. */
  private busyGroup(line: MetricLine): Group {
    const { table, pool, namespace, name } = this.placeOf(line);
    return table?.get(pool, namespace, name) ?? this.own;
  }

  /** The group of a line that has not grown, if its key has labels. */
  private knownGroup(line: MetricLine): Group | undefined {
    const { table, pool, namespace, name } = this.placeOf(line);
    if (!table) return this.own;
    if (namespace === OTHER && (name === OTHER || name === '')) return table.other(pool);
    // guard: idle-queue-has-no-labels
    return table.peek(pool, namespace, name);
  }

  private placeOf({ labels }: MetricLine): Place {
    const { pool = '', namespace, queue, target } = labels;
    const key = { pool: String(pool), namespace: String(namespace), name: String(queue ?? target ?? '') };
    if (namespace === undefined) return { table: undefined, ...key };
    if (queue !== undefined) return { table: this.queues, ...key };
    return { table: target === undefined ? this.namespaces : this.targets, ...key };
  }

  private group(isShared: boolean): Group {
    const group = { isShared, lines: new Map<string, Line>() };
    this.groups.add(group);
    return group;
  }

  private sums(): object[] {
    const values = new Map<string, Line[]>([...this.families.keys()].map((name) => [name, []]));
    for (const { lines } of this.groups) {
      for (const line of lines.values()) values.get(line.family)?.push(line);
    }
    return [...this.families.values()].map((family) => ({ ...family, values: values.get(family.name) }));
  }
}

function keyOf(family: string, { metricName = '', labels }: MetricLine): string {
  return `${metricName || family} ${JSON.stringify(labels)}`;
}

function sharedLabels(labels: MetricLine['labels']): MetricLine['labels'] {
  const { queue, target } = labels;
  return {
    ...labels,
    namespace: OTHER,
    ...(queue !== undefined && { queue: OTHER }),
    ...(target !== undefined && { target: OTHER }),
  };
}

/** The lines of a family, those of one histogram together: its count is the last of them. */
function* seriesOf({ type, values }: MetricFamily): Generator<MetricLine[]> {
  let open: MetricLine[] = [];
  for (const line of values) {
    open.push(line);
    // guard: histogram-series-together
    if (type === 'histogram' && !line.metricName?.endsWith('_count')) continue;
    yield open;
    open = [];
  }
}
