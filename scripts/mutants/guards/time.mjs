const WAITING = 'test/engine/leasing.spec.ts';
const EXPIRY = 'test/engine/expiry.spec.ts';
const ROOM = 'src/engine/lease/long-poll-manager.spec.ts';
const PUBLISHED = 'test/engine/publishing.spec.ts';
const PUMP = 'test/engine/pump.spec.ts';

/**
 * Waiting, waking and the pump: nothing late, nothing early.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const TIME = [
  {
    id: 'ready-job-wakes-a-waiter',
    name: 'wake-ups: a job that becomes ready wakes a waiter',
    off: 'false',
    spec: WAITING,
    test: 'long polls › a consumer that waits › gets a job that is published later at once',
  },
  {
    id: 'recheck-lost-wakeup',
    name: 'long polls: a waiter whose wake-up was lost checks again',
    off: 'remove',
    spec: WAITING,
    test: 'long polls › a consumer that waits › gets its job within a second although the wake-up was lost',
  },
  {
    id: 'wakeup-during-fetch',
    name: 'long polls: a wake-up during a fetch makes the waiter fetch again',
    off: 'unwrap',
    spec: WAITING,
    test: 'long polls › a consumer that waits › gets a job at once that is published during its first lease call',
  },
  {
    id: 'recheck-registers-again',
    name: 'long polls: waiters of an empty queue are registered again',
    off: 'remove',
    spec: WAITING,
    test: 'long polls › a consumer that waits › stays registered for longer than its flag lasts, without a lease call',
  },
  {
    id: 'recheck-asks-for-extended-queues',
    name: 're-check: a waiter for an extended queue fetches again',
    off: 'remove',
    spec: ROOM,
    test: 'the check of all queues each second › fetches for a request with a worker name although its queue may be empty',
  },
  {
    id: 'newcomer-takes-more-jobs',
    name: 're-check: a waiter fetches for itself if the one before takes jobs of some types only',
    off: 'true',
    spec: ROOM,
    test: 'a new long-poll request › fetches when %s',
  },
  {
    id: 'newcomer-fetches-during-a-wake-up',
    name: 're-check: a waiter that comes while a wake-up is followed fetches for itself',
    off: { with: 'queues.length === 1 && oldest !== undefined && this.isSimple(namespace, request)' },
    spec: ROOM,
    test: 'a new long-poll request › fetches when %s',
  },
  {
    id: 'newcomer-fetches-after-a-failure',
    name: 're-check: a waiter that comes after a failed check fetches for itself',
    off: 'remove',
    spec: ROOM,
    test: 'a new long-poll request › fetches when %s',
  },
  {
    id: 'long-wait-timer',
    name: 'long polls: a wait longer than the longest timer is bounded',
    off: 'unwrap',
    spec: WAITING,
    test: 'long polls › a consumer that waits › D3: waits for longer than the longest timer without ending at once',
  },
  {
    id: 'now-ceil-is-the-next-millisecond',
    name: 'time: times begin at the end of the millisecond',
    off: { with: '$& - 1' },
    spec: PUMP,
    test: 'the pump › never sets an earlier time than requested, to the microsecond',
  },
  {
    id: 'earlier-due-rearms',
    name: 'pump: an earlier due time moves the timer forward',
    off: { with: '0' },
    spec: PUMP,
    test: 'the pump › T10: is woken by an earlier due time while it sleeps for a later one',
  },
  {
    id: 'sweep-takes-over',
    name: 'pump: the sweep finds the work of a dead server',
    off: 'remove',
    spec: PUMP,
    test: 'the pump › takes over the scheduled jobs of a dead server within a second',
  },
  {
    id: 'sweep-drops-tombstones',
    name: 'janitor: a ready list without consumers loses its tombstones',
    off: { with: '0' },
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › an expired job in a ready list without consumers › is removed behind 300 live jobs',
  },
  {
    id: 'sweep-ends-for-newer',
    name: 'janitor: a pass over a ready list ends when another one has begun',
    off: 'false',
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › an expired job in a ready list without consumers › is counted once by two passes at the same time',
  },
  {
    id: 'stale-list-swept',
    name: 'janitor: a ready list of stale entries is swept',
    off: 'remove',
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › an expired job in a ready list without consumers › is removed like the stale entries of 1,200 acknowledged jobs',
  },
  {
    id: 'one-sweep-per-list',
    name: 'janitor: one pass over a ready list at a time',
    off: 'remove',
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › an expired job in a ready list without consumers › is removed after the passes of two servers met and one of them stopped',
  },
  {
    id: 'sweep-trims-tombstones',
    name: 'ready lists: the sweep removes the tombstones at the head of a list without consumers',
    off: 'remove',
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › an expired job in a ready list without consumers › is removed between 5 and 6,000 live jobs',
  },
  {
    id: 'publish-time-beyond-31-bits',
    name: 'publish time: that of a chosen id is kept beyond the 31 bits of a lease',
    off: { with: 'TIMED' },
    spec: PUBLISHED,
    test: 'the publish time › the publish time of a job with a chosen id › is still known after %d days',
  },
  {
    id: 'old-jobs-have-no-publish-time',
    name: 'publish time: a job that an older version stored has none',
    off: 'false',
    spec: PUBLISHED,
    test: 'the publish time › the publish time of a job with a chosen id › is unknown for a job that an older version stored',
  },
  {
    id: 'conversion-keeps-publish-time',
    name: 'publish time: a simple job that becomes an extended one keeps it',
    off: 'remove',
    spec: PUBLISHED,
    test: 'the publish time › the publish time of a job with a chosen id › stays the same when the job becomes extended',
  },
  {
    id: 'publish-time-is-not-ahead',
    name: 'publish time: it is not in the future when the clock was set back',
    off: { with: 'HIGH' },
    spec: PUBLISHED,
    test: 'the publish time › the publish time of a job with a chosen id › is the present time when the clock was set back',
  },
  {
    id: 'converted-due-time-is-unknown',
    name: 'changes: the expiry of a job is not taken for its due time',
    off: 'true',
    spec: 'test/engine/changes.spec.ts',
    test: 'an update of a job › asks for the due time with a new ttl if the job was to expire before, also after another change',
  },
  {
    id: 'expiry-is-no-due-time',
    name: 'answers: the expiry of a simple job is not shown as its due time',
    off: 'true',
    spec: 'test/engine/changes.spec.ts',
    test: 'an update of a job › asks for the due time with a new ttl if the job was to expire before, also after another change',
  },
];
