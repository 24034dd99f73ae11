const LIMITS = 'test/engine/queue-limits.spec.ts';
const RATES = 'test/engine/queue-limits.spec.ts';
const CONTROLS = 'test/engine/queue-limits.spec.ts';
const PROPERTY = 'test/properties/queue-limits.spec.ts';

/**
 * Limits of queues: what may run at once, how often something begins, and what is refused.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const QUEUE_LIMITS = [
  {
    id: 'paused-queue-no-lease',
    name: 'queue limits: a paused queue grants no lease',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a paused queue › leases no job, simple or extended, and accepts new ones',
  },
  {
    id: 'simple-jobs-take-slots',
    name: 'queue limits: running simple jobs count with extended ones',
    off: { with: '$& - redis.call("ZCARD", queue_key("l", number))' },
    spec: LIMITS,
    test: 'limits on running jobs › a limit on running jobs › counts simple and extended jobs, also a job that was leased before the limit was set',
  },
  {
    id: 'late-holder-needs-slot',
    name: 'queue limits: a late holder needs a free slot',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a limit on running jobs › refuses a late lease holder whose slot is taken (Q3)',
  },
  {
    id: 'late-holder-needs-key-slot',
    name: 'queue limits: a late holder needs a slot of its concurrency key',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a full concurrency key › refuses a late lease holder whose slot is taken',
  },
  {
    id: 'ended-job-frees-its-slot',
    name: 'queue limits: a job that ends frees the slot of its key',
    off: 'remove',
    spec: PROPERTY,
    test: 'T23: queue limits leak no slot in ten thousand crashes',
  },
  {
    id: 'freed-slot-calls-the-next',
    name: 'queue limits: a slot that becomes free calls the next job of its key',
    off: { with: 'nil' },
    spec: LIMITS,
    test: 'limits on running jobs › a limit per concurrency key › holds only jobs of the same key, and releases them in order',
  },
  {
    id: 'called-job-has-slot',
    name: 'queue limits: a held job that was moved to the ready list has its slot',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a full concurrency key › has no slot for a new job while a released job is ready',
  },
  {
    id: 'held-not-overtaken',
    name: 'queue limits: no job overtakes held jobs',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a full concurrency key › gives its slot to a job that the rate holds before a new job with a higher priority',
  },
  {
    id: 'free-slot-wakes',
    name: 'queue limits: a free slot wakes waiters',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › a long poll on a limited queue › is woken when a slot of the queue is free',
  },
  {
    id: 'limited-queue-ttl-ends',
    name: 'queue limits: a job whose ttl ends during a lease is ended by the extended path',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › a long poll on a limited queue › is woken when the slot of a simple job whose %s is free',
  },
  {
    id: 'planned-place-counts',
    name: 'queue limits: a plan of the same script counts when a simple job becomes extended',
    off: 'false',
    spec: RATES,
    test: 'limits on running jobs › a simple job that is leased in a limited queue › keeps its heartbeat although another call of the batch makes a job depend on it',
  },
  {
    id: 'replaced-frees-slot',
    name: 'queue limits: a leased job that is replaced frees its slot',
    off: 'false',
    spec: RATES,
    test: 'rate limits › a long poll on a limited queue › is woken when a leased simple job is replaced by a later one',
  },
  {
    id: 'undelivered-lease-follows-settings',
    name: 'queue limits: a lease whose answer may not have been sent follows the settings too',
    off: { with: 'not is_free and $&' },
    spec: RATES,
    test: 'limits on running jobs › a simple job that is leased in a limited queue › returns to the front when its lease expires whose answer may not have been sent',
  },
  {
    id: 'limited-queue-is-extended',
    name: 'queue limits: the extended path handles the leases of a limited queue',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › a long poll on a limited queue › is woken when the slot of a dead simple job is free',
  },
  {
    id: 'namespace-grace-holds-for-simple-jobs',
    name: 'expired leases: lease_grace_ms of the namespace holds for simple jobs, too',
    off: 'remove',
    spec: 'test/engine/expired-leases.spec.ts',
    test: 'an expired lease › a namespace with `lease_grace_ms` › delays expired jobs of %s in all of its queues, until it is reset',
  },
  {
    id: 'rate-sets-a-timer',
    name: 'queue limits: a timer runs when a rate allows more',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › a long poll on a limited queue › is woken when the rate allows more',
  },
  {
    id: 'pause-saves-one-burst',
    name: 'queue limits: a pause saves up no more than a burst',
    off: { with: '(tat or now_floor) - now_floor' },
    spec: RATES,
    test: 'rate limits › T24: hold 100 a second with a burst of 20 over two servers: 120 in any second, 100 in the long run',
  },
  {
    id: 'draining-queue-takes-no-simple-job',
    name: 'queue limits: a draining queue takes no simple job',
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a draining queue › refuses new jobs of any API until it is empty',
  },
  ...['respawn', 'move', 'recurring'].map((what) => ({
    id: `${what}-begins-no-drain`,
    name: `queue limits: a drain that has ended does not begin again (${what})`,
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a draining queue › has ended its drain when it is empty, also if the next job is %s',
  })),
  {
    id: 'draining-refusal-takes-no-quota',
    name: 'queue limits: what a draining queue refuses counts for no quota',
    off: { behind: 2 },
    spec: CONTROLS,
    test: 'pause, resume and settings › a draining queue › counts no bytes of refused jobs',
  },
  {
    id: 'change-reads-held-jobs-again',
    name: 'queue limits: the pass over held jobs begins anew with each change',
    off: { with: '"none"' },
    spec: 'test/engine/queue-limits.spec.ts',
    test: 'limits on running jobs › a limit that is removed while held jobs of the former one are released › holds no more jobs',
  },
  {
    id: 'queue-with-jobs-stays',
    name: 'queues: a queue with jobs is not removed',
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a queue › is not removed by the call, and keeps its settings, while it has a job that is %s',
  },
  {
    id: 'served-queue-is-last',
    name: 'turns: the queue that gave a job last comes last',
    off: 'remove',
    spec: 'test/engine/leasing.spec.ts',
    test: 'leasing from several queues in turns › T22: leases from a short and a very long queue in turns, on any server',
  },
  {
    id: 'purge-follows-states',
    name: 'queues: a purge follows jobs into a later state',
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a purge of a queue › removes jobs that change to another chosen state during the purge, and leaves jobs that are published during it',
  },
  {
    id: 'purge-reads-blocked-first',
    name: 'queue limits: a purge reads blocked jobs before scheduled ones',
    off: { behind: 1 },
    spec: CONTROLS,
    test: 'pause, resume and settings › a purge of a queue › removes jobs that change to another chosen state during the purge, and leaves jobs that are published during it',
  },
];
