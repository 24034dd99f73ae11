const ENGINE = 'test/engine/engine.spec.ts';
const BATCHES = 'test/engine/batches.spec.ts';
const EXPIRY = 'test/engine/expiry.spec.ts';
const STALE = 'test/engine/reused-ids.spec.ts';
const PROPERTIES = 'test/properties/simple-jobs.spec.ts';
const READS = 'test/engine/faults.spec.ts';
const REUSED = 'test/engine/reused-ids.spec.ts';
const OLDER = 'test/engine/data-format.spec.ts';

/**
 * Ready lists and their entries: what counts in them, what is gone, and when they are read.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const READY_LISTS = [
  {
    id: 'age-of-recurring-jobs',
    name: 'age: a job of a recurring job has one',
    off: { with: 'nil' },
    spec: ENGINE,
    test: 'the engine › shows the age of a job of a recurring job',
  },
  {
    id: 'age-of-priority-jobs',
    name: 'age: jobs with a priority count',
    off: 'false',
    spec: ENGINE,
    test: 'the engine › shows the age of the oldest job of all priorities',
  },
  {
    id: 'peek-checks-entry-number',
    name: 'entry number: a peek skips an old entry of the ready list',
    off: 'remove',
    spec: PROPERTIES,
    test: 'a job created again under its own id › is in its new place, not in its old one',
  },
  {
    id: 'lease-checks-entry-number',
    name: 'entry number: a lease skips an old entry of the ready list',
    off: 'remove',
    spec: PROPERTIES,
    test: 'a job created again under its own id › is in its new place, not in its old one',
  },
  {
    id: 'lease-checks-queue-number',
    name: 'queue number: a lease skips an entry of a job that moved to another queue',
    off: 'true',
    spec: STALE,
    test: 'stale entries › the stale entry of a job that was published again in another queue › is not leased',
  },
  {
    id: 'peek-checks-queue-number',
    name: 'queue number: a peek skips an entry of a job that moved to another queue',
    off: 'remove',
    spec: STALE,
    test: 'stale entries › the stale entry of a job that was published again in another queue › is not shown',
  },
  {
    id: 'ready-list-skips-stale',
    name: 'entry number: stale entries of an earlier job with the same id are skipped',
    off: 'false',
    spec: PROPERTIES,
    test: 'a job created again under its own id › is in its new place, not in its old one',
  },
  {
    id: 'priority-skips-stale-numbers',
    name: 'entry number: a job with a priority skips the numbers of stale entries',
    off: { with: '{}' },
    spec: REUSED,
    test: 'ids used again › a chosen id whose job %s › is leased once, in order, when it is used again %s',
  },
  {
    id: 'used-up-entry-numbers-are-freed',
    name: 'entry number: one that all stale entries have is freed before it is used again',
    off: 'remove',
    spec: REUSED,
    test: 'ids used again › an id whose 256 entry numbers are all stale entries of one ready list › is leased once, in order, when it is used again with %j',
  },
  {
    id: 'entry-zero-for-far-slots',
    name: 'entry number: 0 is used in far slots only',
    off: { with: '0' },
    spec: REUSED,
    test: 'ids used again › an id that was scheduled far ahead and cancelled › is due at its own time when it is used again, not at the former one',
  },
  {
    id: 'priority-job-not-in-list',
    name: 'ready list: a job with a priority has no live entry in the list',
    off: 'remove',
    spec: OLDER,
    test: 'stores of older builds › a store in which a version before 0.2.0 put jobs into two places › leases each job once from the start, before the janitor ran',
  },
  {
    id: 'janitor-reads-empty-list',
    name: 'ready list: the janitor reads a list before it deletes it with its queue',
    off: 'true',
    spec: OLDER,
    test: 'stores of older builds › a store in which a version before 0.2.0 put jobs into two places › keeps a queue whose jobs are not counted',
  },
  {
    id: 'delete-reads-empty-list',
    name: 'ready list: a delete call reads a list before it deletes it with its queue',
    off: 'remove',
    spec: OLDER,
    test: 'stores of older builds › a store in which a version before 0.2.0 put jobs into two places › keeps a queue whose jobs are not counted',
  },
  {
    id: 'recount-finds-missing-stale',
    name: 'ready list: counted stale entries that do not exist are found',
    off: { with: 'nil' },
    spec: OLDER,
    test: 'stores of older builds › a store in which a version before 0.2.0 put jobs into two places › is repaired by the janitor: counts are right, and jobs without a queue are dead jobs of the queue recovered',
  },
  {
    id: 'recount-keeps-present-entries',
    name: 'entry number: stale entries that are counted and still in the list stay counted',
    off: 'true',
    spec: OLDER,
    test: 'stores of older builds › a store in which a version before 0.2.0 put jobs into two places › keeps the count of a real stale entry at a recount',
  },
  {
    id: 'unique-window-holds-for-its-own-id',
    name: 'unique keys: the window of a key also refuses a job with the id of its holder',
    off: { with: '$& and $&.id ~= id' },
    spec: REUSED,
    test: 'ids used again › the window of a unique key › outlives its job, also for a job published with the same id',
  },
  {
    id: 'due-time-is-of-one-job',
    name: 'ready lists: a due time moves only the job that it belongs to',
    off: { with: 'state > 0' },
    spec: PROPERTIES,
    test: 'a job created again under its own id › is not moved by the due time of a former job that Redis removed',
  },
  {
    id: 'peek-checks-expiry',
    name: 'expiry: a peek hides an expired job',
    off: 'false',
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › is not shown',
  },
  {
    id: 'pump-checks-expiry',
    name: 'expiry: the pump removes an expired job',
    off: 'false',
    spec: ENGINE,
    test: 'the engine › removes an expired job in any place',
  },
  {
    id: 'removal-planned-once',
    name: 'removal: a job is planned once',
    off: 'true',
    spec: BATCHES,
    test: 'batches › calls in one turn of the event loop › store one job if two publish the same id, and remove the expired job of the id once',
  },
  {
    id: 'list-windows-grow-by-two',
    name: 'ready lists: a script reads at most twice as far as it has read before',
    off: { with: 'math.huge' },
    spec: READS,
    test: 'how much a script reads › the values that a script reads at once › are at most 16 after 8 short ones: ready list',
  },
  {
    id: 'values-of-each-list-double',
    name: 'lists of types and fair keys: the first job of each is read alone',
    off: { with: '50' },
    spec: READS,
    test: 'how much a script reads › the values that a script reads at once › are one of each fair key that gives one job',
  },
  {
    id: 'stale-entries-measure-nothing',
    name: 'ready lists: stale entries say nothing about the size of the jobs behind them',
    off: { replace: 'next_size = WINDOW_BYTES\n$&' },
    spec: READS,
    test: 'how much a script reads › the values that a script reads at once › are at most 16 for one job although every second entry is stale',
  },
  {
    id: 'ack-reads-grow-by-two',
    name: 'acks: a script reads at most twice as many values as were short',
    off: { with: '100' },
    spec: READS,
    test: 'how much a script reads › the values that a script reads at once › are at most 16 after 8 short ones: acknowledgements',
  },
  {
    id: 'attributes-are-read-for-each-job',
    name: 'publishes: jobs with attributes do not share a kind',
    off: 'true',
    spec: 'test/engine/regressions.spec.ts',
    test: 'regressions of simple jobs › attributes that their caller changes and uses again › are stored as they were at each publish',
  },
];
