const SERVICE = 'src/metrics/metrics.service.spec.ts';
const TOTALS = 'src/metrics/cluster-totals.ts';
const TOTALS_SPEC = 'src/metrics/cluster-totals.spec.ts';

/**
 * Counters: no scrape shows a rise without traffic, and none falls while the server runs.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const METRICS = [
  {
    name: 'metrics: a counter whose series ends is shown no more',
    file: 'src/metrics/series.ts',
    from: 'this.cells.delete(cell);',
    to: '',
    spec: SERVICE,
    test: 'leaves the number of series where it was',
  },
  {
    name: 'metrics: a histogram whose series ends is shown no more',
    file: 'src/metrics/series.ts',
    from: 'this.series.delete(cell);',
    to: '',
    spec: SERVICE,
    test: 'leaves the number of series where it was',
  },
  {
    name: 'metrics: the sum of workers is of what each has added',
    file: TOTALS,
    from: 'const more = line.value - (isNew ? 0 : (last.get(key) ?? 0));',
    to: 'const more = line.value;',
    spec: TOTALS_SPEC,
    test: 'shows a queue for an hour after its last traffic in any worker',
  },
  {
    name: 'metrics: a worker that has released a queue counts from zero',
    file: TOTALS,
    from: 'isNew ? 0 : ',
    to: '',
    spec: TOTALS_SPEC,
    test: 'counts on when a worker that had released a queue',
  },
  {
    name: 'metrics: the series of a histogram begin together',
    file: TOTALS,
    from: "if (type === 'histogram' && !line.metricName?.endsWith('_count')) continue;",
    to: '',
    spec: TOTALS_SPEC,
    test: 'counts on when a worker that had released a queue',
  },
  {
    name: 'metrics: an answer that comes late counts once',
    file: TOTALS,
    from: 'answer <= process.answer || ',
    to: '',
    spec: TOTALS_SPEC,
    test: 'ignores an answer that comes after a later one',
  },
  {
    name: 'metrics: a worker that has ended is not counted again',
    file: TOTALS,
    from: ' || this.ended.has(id)',
    to: '',
    spec: TOTALS_SPEC,
    test: 'ignores an answer that comes after a later one',
  },
  {
    name: 'metrics: the gauges of an ended worker go',
    file: TOTALS,
    from: 'this.processes.delete(id);',
    to: '',
    spec: TOTALS_SPEC,
    test: 'of one that has ended but for its gauges',
  },
  {
    name: 'metrics: a queue has labels only while some worker has traffic of it',
    file: TOTALS,
    from: 'return table.peek(pool, namespace, name);',
    to: 'return table.get(pool, namespace, name);',
    spec: TOTALS_SPEC,
    test: 'shows a queue for an hour after its last traffic in any worker',
  },
  {
    name: 'metrics: the queues of all workers together are limited',
    file: TOTALS,
    from: 'const labels = group.isShared ? sharedLabels(line.labels) : line.labels;',
    to: 'const labels = line.labels;',
    spec: TOTALS_SPEC,
    test: 'shows as many queues as it may',
  },
];
