const LISTS = 'test/engine/lists.spec.ts';
const DEAD = 'test/engine/lists.spec.ts';
const INDEXES = 'test/properties/indexes.spec.ts';
const E2E = 'test/api/native-queues.spec.ts';

/**
 * Lists, tags, tracked jobs, workers, and the dead-letter calls of the native API.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LIST_GUARDS = [
  {
    id: 'group-list-of-other-states',
    name: 'lists: the index of a failure group is read for dead jobs only',
    off: 'true',
    spec: DEAD,
    test: 'dead jobs › lists jobs of other states by the group of their last failure',
  },
  {
    id: 'stalled-list-stops-before-leased',
    name: 'lists: a job that is leased now is not listed as stalled',
    off: { with: '2 ^ 53' },
    spec: 'test/engine/lists.spec.ts',
    test: 'lists of jobs › a list of stalled jobs › has no job of another namespace',
  },
  {
    id: 'variables-are-bounded',
    name: 'variables: a namespace has at most 256',
    off: 'false',
    spec: 'test/engine/variables.spec.ts',
    test: 'variables of a namespace › are refused beyond their number, while those that are there can be changed',
  },
  {
    id: 'group-index-dead-only',
    name: 'lists: the index of a failure group has dead jobs only',
    off: 'remove',
    spec: 'test/engine/lists.spec.ts',
    test: 'dead jobs › do not include a job that failed and is tried again',
  },
  {
    id: 'gone-job-in-no-index',
    name: 'lists: a removed job is in no index',
    off: 'remove',
    spec: INDEXES,
    test: 'every index is right after any sequence of calls (seed ${String(SEED)})',
  },
  {
    id: 'worker-index-follows-the-job',
    name: 'lists: a job that leaves its worker leaves the list of the worker',
    off: 'false',
    spec: INDEXES,
    test: 'every index is right after any sequence of calls (seed ${String(SEED)})',
  },
  {
    id: 'equal-scores-are-ordered-by-id',
    name: 'lists: a place among equal scores is found by its id',
    off: 'true',
    spec: LISTS,
    test: 'lists of jobs › a list › a list in reverse › shows each job once while jobs with equal scores are added and removed',
  },
  {
    id: 'list-cancelled-by-end',
    name: 'lists: cancelled jobs are listed by the time of their end',
    off: 'remove',
    spec: LISTS,
    test: 'lists of jobs › a list › a list of ended jobs › is sorted by end time in each state and in both orders, with any page size',
  },
  {
    id: 'list-done-stops-before-cancelled',
    name: 'lists: a page of done jobs stops before the cancelled ones',
    off: 'remove',
    spec: LISTS,
    test: 'lists of jobs › a list › a list of ended jobs › is sorted by end time in each state and in both orders, with any page size',
  },
  {
    id: 'cancelled-is-not-done',
    name: 'counts: a cancelled job is not counted as done',
    off: 'false',
    spec: E2E,
    test: 'the native API, queues › uses the same state names in counts, lists and purges',
  },
  {
    id: 'oldest-cancelled-jobs-go-first',
    name: 'retention: of the cancelled jobs those go first that ended first',
    off: { with: 'redis.call("ZRANGEBYSCORE", key, "-inf", "(0", "WITHSCORES", "LIMIT", 0, count)' },
    spec: 'test/engine/expiry.spec.ts',
    test: 'retention of finished jobs › removes first the jobs that ended first, done and cancelled',
  },
  {
    id: 'retention-one-order',
    name: 'retention: done and cancelled jobs are removed in one order',
    off: 'true',
    spec: 'test/engine/expiry.spec.ts',
    test: 'retention of finished jobs › removes first the jobs that ended first, done and cancelled',
  },
  {
    id: 'walk-follows-moved-entry',
    name: 'lists: an entry that moved in a ready list is found again',
    off: 'false',
    spec: LISTS,
    test: 'lists of jobs › a list › continues in a ready list whose head was leased between two pages',
  },
  {
    id: 'index-names-are-no-keys',
    name: 'lists: the name of an index cannot be another key of the server',
    off: { with: 'name' },
    spec: LISTS,
    test: 'lists of jobs › tags › may have the names of internal keys',
  },
  {
    id: 'tag-counts-once',
    name: 'lists: a repeated tag counts once for a job',
    off: 'remove',
    spec: LISTS,
    test: 'lists of jobs › tags › are counted once for each job, however often they are added (Q10)',
  },
  {
    id: 'far-job-stays-far-when-tagged',
    name: 'lists: a job that is scheduled far ahead stays there when it is tagged',
    off: { with: 'kind' },
    spec: LISTS,
    test: 'lists of jobs › tags › are changed on a leased job and on a far job',
  },
  {
    id: 'untracked-job-leaves-no-trace',
    name: 'lists: a job that is tracked no more leaves no trace',
    off: 'false',
    spec: LISTS,
    test: 'lists of jobs › tracked jobs › can be untracked when they are gone (Q15)',
  },
  {
    id: 'lists-of-all-queues-need-the-right',
    name: 'lists: a token for some queues lists these only',
    off: 'false',
    spec: E2E,
    test: 'the native API, lists › the calls on lists, tags and workers › are refused to a token for some queues, except for lists of these queues',
  },
  {
    id: 'respawn-clears-failure',
    name: 'dead letter: a respawned job has no failure',
    off: 'remove',
    spec: DEAD,
    test: 'dead jobs › are counted by group; a respawned job is not counted, and has no failure (Q4)',
  },
  {
    id: 'respawn-ends-old-leases',
    name: 'dead letter: a lease from before the death is lost',
    off: 'remove',
    spec: DEAD,
    test: 'dead jobs › refuse a lease from before their death',
  },
  {
    id: 'dead-letter-pass-ends',
    name: 'dead letter: an operation does not meet the jobs again that it brought back',
    off: { with: 'filter' },
    spec: DEAD,
    test: 'dead jobs › are respawned by a continued call without the jobs that died after its start',
  },
  {
    id: 'dead-letter-dead-only',
    name: 'dead letter: only dead jobs are respawned or deleted',
    off: 'remove',
    spec: DEAD,
    test: 'dead jobs › are respawned and deleted by id only if they are dead',
  },
  {
    id: 'dry-run-changes-nothing',
    name: 'dead letter: a dry run changes nothing',
    off: 'remove',
    spec: E2E,
    test: 'the native API, lists › the native dead-letter queue › is listed and searched, and a dry run counts its jobs',
  },
  {
    id: 'respawn-checks-target-queue',
    name: 'dead letter: the token must be valid for the queue that jobs move to',
    off: 'remove',
    spec: E2E,
    test: 'the native API, lists › the calls on lists, tags and workers › are refused to a token for some queues, except for lists of these queues',
  },
  {
    id: 'cancelled-leaves-worker',
    name: 'lists: a job that is cancelled at the end of its lease leaves its worker',
    off: 'true',
    spec: 'test/engine/lists.spec.ts',
    test: 'lists of jobs › the records of workers › drop a job that is cancelled when its lease expires',
  },
  {
    id: 'traffic-of-yesterday-lists-queues',
    name: 'lists of queues: traffic of yesterday counts',
    off: { with: 'today' },
    spec: 'test/engine/statistics.spec.ts',
    test: 'statistics › keep a queue on the list until the end of the next day, also when it is empty',
  },
];
