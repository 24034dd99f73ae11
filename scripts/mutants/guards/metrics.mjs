const SERVICE = 'src/metrics/metrics.service.spec.ts';
const TOTALS_SPEC = 'src/metrics/cluster-totals.spec.ts';

/**
 * Counters: no scrape shows a rise without traffic, and none falls while the server runs.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const METRICS = [
  {
    id: 'rate-limited-tokens-are-bounded',
    name: 'metrics: series of tokens are bounded',
    off: { with: 'true' },
    spec: 'src/metrics/http-metrics.spec.ts',
    test: 'HttpMetrics › counts the rejections of tokens beyond its maximum together',
  },
  {
    id: 'counter-series-removed',
    name: 'metrics: a counter whose series ends is removed',
    off: 'remove',
    spec: SERVICE,
    test: 'MetricsService › has an hour after 100,000 short-lived queues as many series as before them',
  },
  {
    id: 'histogram-series-removed',
    name: 'metrics: a histogram whose series ends is removed',
    off: 'remove',
    spec: SERVICE,
    test: 'MetricsService › has an hour after 100,000 short-lived queues as many series as before them',
  },
  {
    id: 'cluster-sum-adds-differences',
    name: 'metrics: the sum of the processes adds what each has counted since',
    off: { with: '0' },
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › shows a queue for an hour after its last traffic in any API process, and then adds nothing to "other"',
  },
  {
    id: 'released-queue-counts-from-zero',
    name: 'metrics: a process that has released a queue counts from zero',
    off: { with: 'last.get(key) ?? 0' },
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › continues a counter when an API process restarts its own counter at zero',
  },
  {
    id: 'histogram-series-together',
    name: 'metrics: the series of a histogram begin together',
    off: 'remove',
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › continues a counter when an API process restarts its own counter at zero',
  },
  {
    id: 'late-totals-count-once',
    name: 'metrics: a late answer of a process counts once',
    off: 'remove',
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › ignores an answer that arrives after a newer answer or after the end of its process',
  },
  {
    id: 'ended-process-counts-once',
    name: 'metrics: an ended process is not counted again',
    off: 'remove',
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › ignores an answer that arrives after a newer answer or after the end of its process',
  },
  {
    id: 'ended-process-gauges-removed',
    name: 'metrics: the gauges of an ended process are removed',
    off: 'remove',
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › keeps the last values of an API process without a new answer, and the counters of an ended process',
  },
  {
    id: 'idle-queue-has-no-labels',
    name: 'metrics: a queue has labels only while some process has traffic of it',
    off: { with: 'table.get(pool, namespace, name)' },
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › shows a queue for an hour after its last traffic in any API process, and then adds nothing to "other"',
  },
  {
    id: 'labels-of-all-processes-are-bounded',
    name: 'metrics: the queues of all processes together are limited',
    off: 'false',
    spec: TOTALS_SPEC,
    test: 'ClusterTotals › shows at most its maximum number of queues, and the sum of the others as "other"',
  },
  {
    id: 'lmstfy-label-names-the-job',
    name: "metrics: the label `api` of a job's calls is that of lmstfy",
    off: { with: "'job/:id'" },
    spec: 'test/api/metrics.spec.ts',
    test: "metrics › have lmstfy's labels and bucket bounds",
  },
  {
    id: 'lmstfy-bounds-are-exact',
    name: 'metrics: the bounds of buckets are those of lmstfy, to the last digit',
    off: { with: '$&.map(Math.round)' },
    spec: 'test/api/metrics.spec.ts',
    test: "metrics › have lmstfy's labels and bucket bounds",
  },
];
