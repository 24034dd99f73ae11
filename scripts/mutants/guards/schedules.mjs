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
    spec: 'test/properties/unique-keys.spec.ts',
    test: 'T29: a unique key never has two live jobs, and is freed by every end of its job',
  },
  {
    id: 'frees-own-unique-key',
    name: 'unique keys: a job frees only its own key',
    off: 'remove',
    spec: UNIQUE,
    test: 'a unique key is not freed by a former holder',
  },
  {
    id: 'expired-holds-no-key',
    name: 'unique keys: an expired job holds no key',
    off: 'remove',
    spec: UNIQUE,
    test: 'a unique key is freed when its job › expires, before the pump runs',
  },
  {
    id: 'leased-job-is-not-replaced',
    name: 'unique keys: a leased job is not replaced',
    off: 'false',
    spec: UNIQUE,
    test: 'a unique key replaces a waiting job, but not a leased one',
  },
  {
    id: 'debounce-takes-the-ttl',
    name: 'unique keys: a debounced job has the ttl of the publish that restarted it',
    off: 'remove',
    spec: UNIQUE,
    test: 'a unique key in mode debounce takes the ttl of the new job: %s',
  },
  {
    id: 'unique-first-of-call',
    name: 'unique keys: the first job of one call keeps the key',
    off: 'remove',
    spec: UNIQUE,
    test: 'two jobs of one call with the same unique key › are refused in mode %s',
  },
  {
    id: 'respawn-needs-the-unique-key',
    name: 'unique keys: a dead job does not come back while another one holds its key',
    off: { with: '$& and false' },
    spec: UNIQUE,
    test: 'a unique key is taken by a respawn, but not while another job holds it',
  },
  {
    id: 'unique-window-outlives-job',
    name: 'unique keys: a window holds its key when its job is gone',
    off: 'remove',
    spec: UNIQUE,
    test: 'a unique key is held for its window after any end of its job',
  },
  {
    id: 'backlog-counts-the-present-slot',
    name: 'recurring: the backlog counts a slot that comes now',
    off: { with: '$& + 1' },
    spec: RECURRING,
    test: 'a recurring job after an outage › T31: makes one job, for the last slot, with max_catch_up 1: %s',
  },
  {
    id: 'earlier-children-keep-their-ids',
    name: 'recurring: jobs of an earlier recurring job keep their ids',
    off: 'true',
    spec: RECURRING,
    test: 'a recurring job that is set again skips the job ids of its existing former jobs',
  },
  {
    id: 'recurring-change-names-its-revision',
    name: 'recurring: of two changes at once one must begin again',
    off: { with: 'not known[1]' },
    spec: RECURRING,
    test: 'a running recurring job › loses no change of two concurrent ones',
  },
  ...[
    ['recurring-removal-names-its-revision', 'a removal'],
    ['recurring-run-names-its-revision', 'a run'],
  ].map(([id, what]) => ({
    id: String(id),
    name: `recurring: ${String(what)} is for the recurring job that was checked`,
    off: /** @type {const} */ ('false'),
    spec: RECURRING,
    test: 'a running recurring job › checks what it changes › though it has changed since: %s',
  })),
  {
    id: 'unknown-recurring-job-stays',
    name: 'recurring: one that is made after the check is not removed',
    off: { with: "''" },
    spec: RECURRING,
    test: 'a running recurring job › checks what it changes › though there was none at first: %s',
  },
  {
    id: 'recurring-answer-is-checked',
    name: 'recurring: the answer shows only what the caller may see',
    off: 'remove',
    spec: RECURRING,
    test: 'a running recurring job › checks what it changes › though another one is stored since: %s',
  },
  {
    id: 'replaced-recurring-job-is-checked',
    name: 'recurring: a token for some queues replaces no recurring job of others',
    off: 'false',
    spec: 'test/api/permissions.spec.ts',
    test: "permissions by queue › T50: a job in a queue outside the token's queues › is not revealed by a recurring job that uses its id",
  },
  {
    id: 'recurring-set-serves-once',
    name: 'recurring jobs: a slot that made its job is not repeated when the recurring job is set again',
    off: 'unwrap',
    spec: RECURRING,
    test: 'a running recurring job › makes no second job for a slot after a pause and a change of its interval',
  },
  {
    id: 'recurring-keeps-namespace',
    name: 'recurring jobs: they keep their namespace registered',
    off: 'remove',
    spec: RECURRING,
    test: 'a recurring job keeps a namespace without queues',
  },
  {
    id: 'recurring-obeys-queue-quota',
    name: 'recurring jobs: the quota on queues holds for them',
    off: 'true',
    spec: RECURRING,
    test: 'a recurring job honours quotas',
  },
  {
    id: 'retention-in-steps',
    name: 'retention: removal goes in bounded steps',
    off: { with: '-1' },
    spec: RETENTION,
    test: 'retention of finished jobs › removes any number of jobs in bounded steps',
  },
  {
    id: 'recurring-bounded-catch-up',
    name: 'recurring jobs: a wrong clock makes a thousand jobs at most',
    off: 'unwrap',
    spec: RECURRING,
    test: 'a recurring job after an outage › makes 1,000 jobs at most, and reports skipped slots: stored backlog %d',
  },
  {
    id: 'recurring-late-after-a-minute',
    name: 'recurring jobs: without catch-up a slot is late after a minute',
    off: 'false',
    spec: RECURRING,
    test: 'a recurring job after an outage › makes no job for slots older than a minute, and goes on with the next',
  },
];
