const SPEC = 'test/engine/regressions.spec.ts';
const RIGHTS = 'test/api/permissions.spec.ts';

/**
 * The extended path where two features meet: quotas, dead jobs with dependents, clocks, late lease holders, rights.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EXTENDED_REGRESSIONS = [
  {
    id: 'heartbeat-data-count-for-the-quota',
    name: 'quotas: data of heartbeats count',
    off: { replace: 'will_change(job).body = bytes' },
    spec: SPEC,
    test: 'regressions of extended jobs › bytes that count for a quota › follow the data of heartbeats, longer and shorter, and are freed with the job',
  },
  {
    id: 'bytes-of-the-written-body',
    name: 'quotas: the bytes of a body that the same script wrote are given back',
    off: 'false',
    spec: SPEC,
    test: 'regressions of extended jobs › bytes that count for a quota › are counted for several operations on one job in a batch',
  },
  {
    id: 'purged-dead-job-notifies',
    name: 'dependencies: the dependents of a purged dead job are notified',
    off: { with: 'job.state == DEAD or $&' },
    spec: SPEC,
    test: 'regressions of extended jobs › jobs with chosen ids › do not wait for a dead dependency to be done after its purge',
  },
  {
    id: 'rate-owes-one-burst',
    name: 'rates: a rate owes no more than a burst',
    off: 'true',
    spec: SPEC,
    test: 'regressions of extended jobs › the wait for a rate › ends although the clock is set back by a day',
  },
  {
    id: 'late-timers-run-now',
    name: 'rates: held jobs do not wait for a clock that was set back',
    off: 'remove',
    spec: SPEC,
    test: 'regressions of extended jobs › the wait for a rate › ends for the held jobs of a key when the clock is set back, and not early otherwise',
  },
  {
    id: 'new-data-loses-late-holders',
    name: 'leases: new data makes late holders lose a job',
    off: 'false',
    spec: SPEC,
    test: 'regressions of extended jobs › jobs with chosen ids › refuse a late ack after the data changed',
  },
  {
    id: 'cancelled-not-dead',
    name: 'cancel: a cancelled job does not die at the end of its lease',
    off: 'remove',
    spec: SPEC,
    test: 'regressions of extended jobs › jobs with chosen ids › are cancelled when their last lease expires during the grace',
  },
  {
    id: 'log-data-are-text',
    name: 'logs: the data of an entry are kept as text',
    off: { replace: 'data' },
    spec: SPEC,
    test: 'regressions of extended jobs › jobs with chosen ids › keep their log entries unchanged',
  },
  {
    id: 'unique-key-of-one-queue',
    name: 'unique keys: for a token of some queues a key counts for its own queue',
    off: 'false',
    spec: SPEC,
    test: 'regressions of extended jobs › jobs with chosen ids › are changed in no other queue by a unique key of their own queue',
  },
  {
    id: 'new-event-stream-from-its-beginning',
    name: 'events: a stream that begins anew is read from its beginning',
    off: 'false',
    spec: SPEC,
    test: 'regressions of extended jobs › an event stream created again by a slower clock › is read from its beginning, with a gap',
  },
  {
    id: 'moving-slot-stops-script',
    name: 'touch first: a moving slot stops a script before it writes',
    off: 'remove',
    spec: 'test/topologies/cluster-move.spec.ts',
    test: 'scripts of extended jobs › a moving slot whose keys have not moved yet › lets %s succeed, or fail without a change',
  },
  {
    id: 'unique-keys-within-rights',
    name: 'rights: unique keys reach into no other queue',
    off: { with: 'jobs' },
    spec: RIGHTS,
    test: 'permissions by queue › a token for some queues › replaces and debounces no job of another queue by a unique key',
  },
  {
    id: 'recurring-unique-keys-within-rights',
    name: 'rights: unique keys of recurring jobs reach into no other queue',
    off: { with: 'recurring.template' },
    spec: RIGHTS,
    test: 'permissions by queue › a token for some queues › replaces and debounces no job of another queue by a unique key',
  },
  {
    id: 'cascade-needs-all-queues',
    name: 'rights: a cascade needs a token for all queues',
    off: 'remove',
    spec: RIGHTS,
    test: 'permissions by queue › a token for some queues › cannot cancel dependents of a job, which may be in any queue',
  },
  {
    id: 'chosen-id-lease-from-clock',
    name: 'leases: leases of a chosen id are numbered from the clock',
    off: { with: '0' },
    spec: 'test/engine/extended-jobs.spec.ts',
    test: 'extended jobs › a chosen id › is not settled by the lease holder of a former job: %s',
  },
  {
    id: 'slot-lease-from-clock',
    name: 'leases: leases of a recurring job are numbered from the clock',
    off: 'remove',
    spec: 'test/engine/recurring.spec.ts',
    test: 'a recurring job that is removed and set again makes jobs that no earlier lease ends',
  },
  {
    id: 'lists-look-back-behind-a-sweep',
    name: 'lists: what a sweep removed before the place is not missed',
    off: { with: '2000' },
    spec: 'test/engine/lists.spec.ts',
    test: 'lists of jobs › a list › shows each live job of a ready list once although 2,520 expired jobs before it are removed',
  },
  {
    id: 'plan-drops-left-member',
    name: 'plan: a member that left again is not added',
    off: 'false',
    spec: 'test/engine/batches.spec.ts',
    test: 'batch ack › two lease operations on one job › have the same outcome in one script as in two: %s, %s',
  },
  {
    id: 'ready-here-no-stale-entry',
    name: 'plan: a job that became ready in this script leaves no stale entry',
    off: 'false',
    spec: 'test/engine/batches.spec.ts',
    test: 'batch ack › two lease operations on one job › have the same outcome in one script as in two: %s, %s',
  },
  {
    id: 'scheduled-here-not-far',
    name: 'plan: a job that was scheduled in this script is not in a far slot',
    off: 'remove',
    spec: 'test/engine/batches.spec.ts',
    test: 'batch ack › two lease operations on one job › have the same outcome in one script as in two: %s, %s',
  },
  {
    id: 'front-once',
    name: 'moves: the place at the front counts once',
    off: 'remove',
    spec: 'test/engine/batches.spec.ts',
    test: 'batch ack › two lease operations on one job › have the same outcome in one script as in two: %s, %s',
  },
];
