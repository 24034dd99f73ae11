const SPEC = 'test/engine/operations.spec.ts';
const API = 'test/api/operations.spec.ts';
const OF_TOKEN = 'an operation of the native API › an operation that a token started';

/**
 * Operations: actions over all jobs that a filter matches.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const OPERATIONS = [
  {
    id: 'ended-operation-runs-no-more',
    name: 'operations: one that has ended does not count as running',
    off: 'remove',
    spec: SPEC,
    test: 'an operation › is refused while four others run, and when one has ended it is started',
  },
  {
    id: 'operation-leaves-later-jobs',
    name: 'operations: a job that was published later is left',
    off: 'true',
    spec: SPEC,
    test: 'an operation › leaves jobs that came later, and skips those that have changed since',
  },
  {
    id: 'operation-leaves-changed-jobs',
    name: 'operations: a job that has changed since is left',
    off: 'false',
    spec: SPEC,
    test: 'an operation › leaves jobs that came later, and skips those that have changed since',
  },
  {
    id: 'operation-reads-opened-slot-again',
    name: 'operations: a far slot that the pump has opened in part is read again',
    off: 'false',
    spec: SPEC,
    test: 'an operation › finds a far job although the pump opens its slot meanwhile',
  },
  {
    id: 'operation-keeps-needed-jobs',
    name: 'operations: a job with dependents is not cancelled alone',
    off: 'false',
    spec: SPEC,
    test: 'an operation › cancels waiting and leased jobs that match, and no other',
  },
  {
    id: 'operation-cancels-once',
    name: 'operations: a worker is asked to stop once',
    off: 'false',
    spec: SPEC,
    test: 'an operation › skips a job whose worker was asked to stop before',
  },
  {
    id: 'operation-retries-tried-jobs',
    name: 'operations: a retry leaves jobs that were never tried',
    off: 'false',
    spec: SPEC,
    test: 'an operation › retries jobs that wait for their next attempt and dead ones, but none that was never tried',
  },
  {
    id: 'operation-patches-within-quota',
    name: 'operations: a patch obeys the quota on bytes',
    off: 'true',
    spec: SPEC,
    test: 'an operation › refuses a change that the quota on bytes has no room for',
  },
  {
    id: 'dry-operation-changes-nothing',
    name: 'operations: a dry run changes nothing',
    off: 'false',
    spec: SPEC,
    test: 'an operation › changes nothing in a dry run, and counts what it would do',
  },
  {
    id: 'operation-key-known',
    name: 'operations: an idempotency key starts one operation',
    off: 'false',
    spec: SPEC,
    test: 'an operation › is started once by the same idempotency key, which another request cannot use',
  },
  {
    id: 'operations-run-few',
    name: 'operations: a namespace runs four at once',
    off: 'false',
    spec: SPEC,
    test: 'an operation › is refused while four others run, and when one has ended it is started',
  },
  {
    id: 'operations-kept-few',
    name: 'operations: a namespace keeps a hundred',
    off: 'remove',
    spec: SPEC,
    test: 'an operation › is kept with the last hundred, for a week',
  },
  {
    id: 'operation-keeps-namespace',
    name: 'operations: a namespace in which one runs is not forgotten',
    off: 'remove',
    spec: SPEC,
    test: 'an operation › keeps its namespace, and ends there when all jobs are gone',
  },
  {
    id: 'operation-within-queues',
    name: 'operations: an index of all queues is read for the queues of the token',
    off: 'false',
    spec: SPEC,
    test: 'an operation › acts on jobs of all queues, and on none of a queue that its token is not for',
  },
  {
    id: 'operation-matches-allowed-queues',
    name: 'operations: a token for some queues matches only jobs of these',
    off: { with: 'all' },
    spec: SPEC,
    test: 'an operation › acts on jobs of all queues, and on none of a queue that its token is not for',
  },
  {
    id: 'operation-stops-when-full',
    name: 'operations: a full Redis stops them',
    off: 'false',
    spec: 'test/faults/operations.spec.ts',
    test: 'operations on a Redis of their own › stop when Redis is full, but for deletions',
  },
  {
    id: 'operation-store-full',
    name: 'operations: a full Redis takes no new one',
    off: 'false',
    spec: 'test/faults/operations.spec.ts',
    test: 'operations on a Redis of their own › stop when Redis is full, but for deletions',
  },
  {
    id: 'operations-stop-during-a-move',
    name: 'operations: those that run stop when their pool moves',
    off: 'remove',
    spec: 'test/api/migration.spec.ts',
    test: 'a pool that moves to another Redis › refuses a new operation, and stops those that ran when the move began',
  },
  {
    id: 'operation-needs-the-verbs-of-its-action',
    name: 'operations: each action needs the permissions of its call',
    off: 'remove',
    spec: API,
    test: `${OF_TOKEN} › needs the permissions of the call for one job`,
  },
  {
    id: 'operation-checks-target-queue',
    name: 'operations: jobs move only to queues of the token',
    off: 'remove',
    spec: API,
    test: `${OF_TOKEN} › matches only jobs in the queues of the token, and moves none elsewhere`,
  },
  {
    id: 'operation-cascade-needs-all-queues',
    name: 'operations: a token for some queues does not cascade',
    off: 'remove',
    spec: API,
    test: `${OF_TOKEN} › matches only jobs in the queues of the token, and moves none elsewhere`,
  },
  {
    id: 'operation-ends-with-its-token',
    name: 'operations: one whose token is deleted stops',
    off: 'false',
    spec: API,
    test: `${OF_TOKEN} › stops when its token is deleted`,
  },
  {
    id: 'operation-ends-with-its-rights',
    name: 'operations: one whose token loses a permission stops',
    off: 'true',
    spec: API,
    test: `${OF_TOKEN} › stops when its token loses a permission`,
  },
  {
    id: 'operation-hides-other-queues',
    name: 'operations: a token for some queues does not see those of other queues',
    off: 'true',
    spec: API,
    test: `${OF_TOKEN} › is seen and stopped by its own token, and not by a token for other queues`,
  },
];
