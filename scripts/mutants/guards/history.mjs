const SPEC = 'test/engine/history.spec.ts';
const PURGE = 'history of queues › goes with its namespace: nothing from before a purge is written after it';

/**
 * The history of queues: a tenant sees nothing of the one before, and it takes no more than it may.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const HISTORY = [
  {
    id: 'activity-of-a-purged-namespace',
    name: 'history: what was counted before a purge is not added after it',
    off: 'false',
    spec: SPEC,
    test: PURGE,
  },
  {
    id: 'samples-of-a-purged-namespace',
    name: 'history: a sample that was taken before a purge is not written after it',
    off: 'false',
    spec: SPEC,
    test: 'history of queues › writes no sample that was taken before a purge',
  },
  {
    id: 'samples-by-one-collector',
    name: 'history: a sample is written in place of the one that its writer has read',
    off: 'true',
    spec: SPEC,
    test: 'history of queues › has one point of an interval when two processes take samples at once',
  },
  {
    id: 'point-of-one-interval',
    name: 'history: a point has what was counted in its interval only',
    off: 'true',
    spec: SPEC,
    test: 'history of queues › has no point of what was counted in several intervals, and points from the next one on',
  },
  {
    id: 'one-collector',
    name: 'history: one process collects',
    off: 'false',
    spec: SPEC,
    test: 'history of queues › is collected by one process, and by another one when that has stopped',
  },
  {
    id: 'history-bytes-bounded',
    name: 'history: the oldest points make room for new ones',
    off: 'false',
    spec: SPEC,
    test: 'history of queues › gives up the oldest points of five minutes where its bytes are at their bound',
  },
  {
    id: 'activity-queues-bounded',
    name: 'history: so many queues of a namespace are counted in five minutes at most',
    off: 'true',
    spec: SPEC,
    test: 'history of queues › counts so many queues of a namespace at most',
  },
  {
    id: 'history-queues-bounded',
    name: 'history: so many queues of a namespace have points in a slot at most',
    off: 'false',
    spec: SPEC,
    test: 'history of queues › keeps points of so many queues of a namespace at most',
  },
  {
    id: 'samples-of-gone-queues-bounded',
    name: 'history: samples of queues that are gone are removed',
    off: 'false',
    spec: SPEC,
    test: 'history of queues › forgets a queue that is gone after a day, and keeps its points',
  },
  {
    id: 'overview-reads-bounded',
    name: 'overview: so many queues are read within two seconds at most',
    off: { with: 'old' },
    spec: 'test/api/overview.spec.ts',
    test: 'GET /overview › reads at most 100 queues within two seconds, whatever pages are open',
  },
  {
    id: 'overview-shows-own-namespaces',
    name: 'overview: an account sees the queues of its namespaces only',
    off: { replace: 'return this.overview.read(query, () => actor.role !== undefined);' },
    spec: 'test/api/overview.spec.ts',
    test: 'GET /overview of an account for some namespaces › has no queue of another namespace, and no sums of them',
  },
];
