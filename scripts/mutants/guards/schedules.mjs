const UNIQUE = 'test/engine/unique-keys.spec.ts';
const RECURRING = 'test/engine/recurring.spec.ts';
const RETENTION = 'test/engine/expiry.spec.ts';

/**
 * Unique keys, recurring jobs and retention.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SCHEDULES = [
  {
    id: 'ended-frees-unique-key',
    name: 'unique keys: an ended job frees its key',
    off: 'remove',
    spec: 'test/engine/unique-keys.property.spec.ts',
    test: 'T29: never lets two jobs of a key live at once, and frees it however its job ends',
  },
  {
    id: 'frees-own-unique-key',
    name: 'unique keys: a job frees only its own key',
    off: 'remove',
    spec: UNIQUE,
    test: 'does not free a key that another job holds by now',
  },
  {
    id: 'expired-holds-no-key',
    name: 'unique keys: an expired job holds no key',
    off: 'remove',
    spec: UNIQUE,
    test: 'frees the key of a job that › expires, and does not wait for the clock',
  },
  {
    id: 'leased-job-is-not-replaced',
    name: 'unique keys: a leased job is not replaced',
    off: 'false',
    spec: UNIQUE,
    test: 'replaces a waiting job, but not a leased one',
  },
  {
    id: 'unique-first-of-call',
    name: 'unique keys: the first job of one call keeps the key',
    off: 'remove',
    spec: UNIQUE,
    test: 'of two jobs of one call with the same key › %s refuses the call',
  },
  {
    id: 'respawn-needs-the-unique-key',
    name: 'unique keys: a dead job does not come back while another one holds its key',
    off: { with: '$& and false' },
    spec: UNIQUE,
    test: 'is respawned with its key, but not while another job holds the key',
  },
  {
    id: 'unique-window-outlives-job',
    name: 'unique keys: a window holds its key when its job is gone',
    off: 'remove',
    spec: UNIQUE,
    test: 'holds a key for its window, however its job ends',
  },
  {
    id: 'backlog-counts-the-present-slot',
    name: 'recurring: the backlog counts a slot that comes now',
    off: { with: '$& + 1' },
    spec: RECURRING,
    test: 'after an outage › T31: makes exactly as many as max_catch_up allows, the last ones: %s',
  },
  {
    id: 'earlier-children-keep-their-ids',
    name: 'recurring: jobs of an earlier recurring job keep their ids',
    off: 'true',
    spec: RECURRING,
    test: 'passes over the numbers of jobs that it made in a former life',
  },
  {
    id: 'recurring-change-names-its-revision',
    name: 'recurring: of two changes at once one must begin again',
    off: { with: 'not known[1]' },
    spec: RECURRING,
    test: 'while it runs › loses no change of two that come at once',
  },
  {
    id: 'recurring-set-serves-once',
    name: 'recurring jobs: a slot that made its job is not repeated when the recurring job is set again',
    off: 'unwrap',
    spec: RECURRING,
    test: 'while it runs › serves no slot twice, paused and resumed on it or not',
  },
  {
    id: 'recurring-keeps-namespace',
    name: 'recurring jobs: they keep their namespace registered',
    off: 'remove',
    spec: RECURRING,
    test: 'keeps a namespace that has no queue yet',
  },
  {
    id: 'recurring-obeys-queue-quota',
    name: 'recurring jobs: the quota on queues holds for them',
    off: 'true',
    spec: RECURRING,
    test: 'honours quotas',
  },
  {
    id: 'retention-in-steps',
    name: 'retention: removal goes in bounded steps',
    off: { with: '-1' },
    spec: RETENTION,
    test: 'retention of finished jobs › goes in bounded steps, however many are over at once',
  },
  {
    id: 'recurring-bounded-catch-up',
    name: 'recurring jobs: a wrong clock makes a thousand jobs at most',
    off: 'unwrap',
    spec: RECURRING,
    test: 'after an outage › makes 1,000 jobs at most, and tells of the slots that it skips: stored backlog %d',
  },
  {
    id: 'recurring-late-after-a-minute',
    name: 'recurring jobs: without catch-up a slot is late after a minute',
    off: 'false',
    spec: RECURRING,
    test: 'after an outage › makes none for slots that passed a minute ago, and goes on with the next',
  },
];
