const STATISTICS = 'test/engine/statistics.spec.ts';
const PURGE = 'test/engine/changes.spec.ts';

/**
 * What belongs to a namespace as a whole: its statistics, its settings, its end.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NAMESPACES = [
  {
    id: 'statistics-batch-once',
    name: 'statistics: a repeated batch is counted once',
    off: 'false',
    spec: STATISTICS,
    test: 'statistics › count a batch once that is repeated after a lost answer',
  },
  {
    id: 'histogram-last-bin',
    name: 'statistics: the last bin holds all longer times',
    off: 'unwrap',
    spec: STATISTICS,
    test: 'statistics › drop no value at the top',
  },
  {
    id: 'expired-run-is-not-counted',
    name: 'statistics: the run of a lease that had expired is not counted',
    off: 'false',
    spec: STATISTICS,
    test: 'statistics › count no run time for an ack after the lease',
  },
  {
    id: 'statistics-queues-bounded',
    name: 'statistics: the number of queues of a day is bounded',
    off: 'false',
    spec: STATISTICS,
    test: 'statistics › are summed under one name for queues beyond the bound of queues a day',
  },
  {
    id: 'statistics-others-reread',
    name: 'statistics: the queues without numbers of their own are read again',
    off: 'remove',
    spec: STATISTICS,
    test: 'statistics › are sent under one name for queues that Redis has reported as beyond the bound',
  },
  {
    id: 'statistics-others-next-day',
    name: 'statistics: a queue without numbers of its own may have some on the next day',
    off: 'remove',
    spec: STATISTICS,
    test: 'statistics › are sent under one name for queues that Redis has reported as beyond the bound',
  },
  {
    id: 'statistics-day-expires',
    name: 'statistics: a day is removed when its history is over',
    off: 'remove',
    spec: STATISTICS,
    test: 'statistics › are kept by day until their history ends',
  },
  {
    id: 'settings-cached-a-second',
    name: 'settings: they are cached for a second at most',
    off: 'remove',
    spec: 'test/engine/quotas.spec.ts',
    test: 'settings of a namespace › the settings of a namespace › apply at once on the server that changes them, and within a second on others',
  },
  {
    id: 'purge-keeps-new-queue',
    name: 'namespaces: a purge keeps a queue with new jobs',
    off: 'remove',
    spec: PURGE,
    test: 'purges › the purge of a namespace › keeps a job that is published during the purge, and reports that it is not done',
  },
  {
    id: 'new-namespace-survives-a-purge',
    name: 'purge: a namespace that has begun anew is left alone by the end of a purge',
    off: { with: 'is_marker == 1 and ($&)' },
    spec: PURGE,
    test: 'purges › the purge of a namespace › keeps a job that is published after the marker of the namespace was removed',
  },
  {
    id: 'purge-scans-all-keys',
    name: 'purge: it finds keys that no index leads to',
    off: { with: '[]' },
    spec: PURGE,
    test: 'purges › the purge of a namespace › removes every key of the namespace, and none of another namespace',
  },
  {
    id: 'statistics-dependency-death',
    name: 'statistics: a death by a failed dependency is a failure',
    off: 'false',
    spec: STATISTICS,
    test: 'statistics › count a death by a failed dependency as a failure for every call',
  },
  {
    id: 'statistics-cancelled-not-retried',
    name: 'statistics: the expired lease of a cancelled job is not a retry',
    off: 'true',
    spec: STATISTICS,
    test: 'statistics › count no retry for an expired lease of a job that is cancelled',
  },
  {
    id: 'forgotten-namespace-has-no-times',
    name: 'namespaces: one that is forgotten leaves no times of its jobs',
    off: 'remove',
    spec: 'test/engine/expiry.spec.ts',
    test: 'retention of finished jobs › leaves nothing of a namespace when its jobs were removed early',
  },
];
