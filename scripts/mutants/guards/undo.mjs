const SPEC = 'test/engine/undo.spec.ts';
const FAULTS = 'test/faults/operations.spec.ts';
const OF = 'the undo of an operation ›';

/**
 * The undo of operations that cancel or delete.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const UNDO = [
  {
    id: 'undo-keeps-revoked-jobs',
    name: 'undo: a job that loses its lease at the end of the grace can come back',
    off: 'false',
    spec: SPEC,
    test: `${OF} brings back what lost its lease at the end of the grace, and not what its worker has ended`,
  },
  {
    id: 'undo-leaves-what-its-worker-ended',
    name: 'undo: a job that its worker has ended does not come back',
    off: 'false',
    spec: SPEC,
    test: `${OF} brings back what lost its lease at the end of the grace, and not what its worker has ended`,
  },
  {
    id: 'undo-replaces-own-leftover',
    name: 'undo: another job that was cancelled stays',
    off: 'true',
    spec: SPEC,
    test: `${OF} leaves another job with the same id, whatever became of that`,
  },
  {
    id: 'undo-keeps-the-ttl',
    name: 'undo: a job whose ttl is over does not come back',
    off: 'false',
    spec: SPEC,
    test: `${OF} says why jobs cannot come back, and brings the others back`,
  },
  {
    id: 'undo-takes-no-held-key',
    name: 'undo: a unique key that another job holds stays with that',
    off: 'false',
    spec: SPEC,
    test: `${OF} says why jobs cannot come back, and brings the others back`,
  },
  {
    id: 'undo-obeys-quotas',
    name: 'undo: jobs come back within the quotas',
    off: { with: 'nil' },
    spec: SPEC,
    test: `${OF} keeps to the quotas, and counts bytes`,
  },
  {
    id: 'undo-after-dependents-are-told',
    name: 'undo: a job comes back when its dependents know of its end',
    off: 'false',
    spec: SPEC,
    test: `${OF} brings a job back when its dependents have been told of its end`,
  },
  {
    id: 'undo-after-dependencies',
    name: 'undo: a job comes back behind those that it depends on',
    off: 'false',
    spec: SPEC,
    test: `${OF} brings a chain back so that no job runs before one that it depends on`,
  },
  {
    id: 'undo-keeps-lost-dependencies-lost',
    name: 'undo: a job whose dependency could not come back does not run without it',
    off: 'false',
    spec: SPEC,
    test: `${OF} does not bring a job back whose dependency could not come back`,
  },
  {
    id: 'undo-after-failed-dependencies',
    name: 'undo: a job comes back behind a dead one that it waits for',
    off: 'false',
    spec: SPEC,
    test: `${OF} brings a job back behind a dead dependency, and lets it go on when that is done after all`,
  },
  {
    id: 'undo-begins-no-drain',
    name: 'undo: a drain that has ended does not begin again',
    off: 'remove',
    spec: SPEC,
    test: `${OF} brings jobs back to a queue whose drain has ended, and does not begin that again`,
  },
  {
    id: 'undo-keeps-some-jobs',
    name: 'undo: an operation keeps no more jobs than it may',
    off: 'false',
    spec: SPEC,
    test: `${OF} keeps as many %s as an operation may have, and says how many jobs it did not keep`,
  },
  {
    id: 'undo-keeps-some-bytes',
    name: 'undo: an operation keeps no more bytes than it may',
    off: 'false',
    spec: SPEC,
    test: `${OF} keeps as many %s as an operation may have, and says how many jobs it did not keep`,
  },
  {
    id: 'undo-counts-revoked-jobs',
    name: 'undo: the data of leased jobs counts when their cancel is requested',
    off: { with: '0' },
    spec: SPEC,
    test: `${OF} counts the data of a leased job before its lease has ended`,
  },
  {
    id: 'undo-keeps-its-operation',
    name: 'undo: the record of an operation stays while that is undone',
    off: 'true',
    spec: SPEC,
    test: `${OF} keeps the record of an operation that is being undone`,
  },
  {
    id: 'undo-keeps-namespace',
    name: 'undo: a namespace in which an operation can be undone is not forgotten',
    off: 'remove',
    spec: SPEC,
    test: `${OF} keeps its namespace, and leaves other namespaces alone`,
  },
  {
    id: 'undo-of-ended-operation',
    name: 'undo: an operation that runs is not undone',
    off: 'false',
    spec: SPEC,
    test: `${OF} is refused while the operation runs, without undo_ms, and when its time is over`,
  },
  {
    id: 'undo-within-its-time',
    name: 'undo: it does not begin when its time is over',
    off: 'false',
    spec: SPEC,
    test: `${OF} is refused while the operation runs, without undo_ms, and when its time is over`,
  },
  {
    id: 'undo-has-its-time',
    name: 'undo: what is kept goes when its time is over',
    off: 'false',
    spec: SPEC,
    test: `${OF} is refused while the operation runs, without undo_ms, and when its time is over`,
  },
  {
    id: 'undo-far-job-has-no-old-entry',
    name: 'undo: the entry of a far job in its slot stays stale',
    off: { with: 'job.entry' },
    spec: SPEC,
    test: `${OF} brings deleted jobs of each state back with the same bytes of data, options and state`,
  },
  {
    id: 'undo-store-full',
    name: 'undo: a full Redis refuses it',
    off: 'false',
    spec: FAULTS,
    test: 'operations on a Redis of their own › cannot be undone when Redis is full, and what they keep goes then',
  },
  {
    id: 'undo-stops-when-full',
    name: 'undo: a full Redis stops it',
    off: 'false',
    spec: FAULTS,
    test: 'operations on a Redis of their own › stop to be undone when Redis is full, and go on later',
  },
  {
    id: 'undo-makes-room',
    name: 'undo: what operations keep goes when Redis is full',
    off: 'false',
    spec: FAULTS,
    test: 'operations on a Redis of their own › cannot be undone when Redis is full, and what they keep goes then',
  },
  {
    id: 'undo-within-queues',
    name: 'undo: a token for some queues undoes nothing of others',
    off: 'remove',
    spec: 'test/api/undo.spec.ts',
    test: 'the undo of an operation over the native API › is refused to a token that may not use the queues any more',
  },
];
