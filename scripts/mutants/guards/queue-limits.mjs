const LIMITS = 'test/engine/queue-limits.spec.ts';
const RATES = 'test/engine/queue-limits.spec.ts';
const CONTROLS = 'test/engine/queue-limits.spec.ts';
const PROPERTY = 'test/engine/queue-limits-property.spec.ts';

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
    test: 'limits on running jobs › a paused queue › gives no job, plain or rich, and takes new ones',
  },
  {
    id: 'simple-jobs-take-slots',
    name: 'queue limits: running simple jobs count with extended ones',
    off: { with: '$& - redis.call("ZCARD", queue_key("l", number))' },
    spec: LIMITS,
    test: 'limits on running jobs › a limit on running jobs › counts plain and rich ones, those too that ran before it was set',
  },
  {
    id: 'late-holder-needs-slot',
    name: 'queue limits: a late holder needs a free slot',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a limit on running jobs › refuses a late owner whose slot is taken (Q3)',
  },
  {
    id: 'late-holder-needs-key-slot',
    name: 'queue limits: a late holder needs a slot of its concurrency key',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a key that is full › refuses a late owner whose slot is taken',
  },
  {
    id: 'ended-job-frees-its-slot',
    name: 'queue limits: a job that ends frees the slot of its key',
    off: 'remove',
    spec: PROPERTY,
    test: 'leaks no slot in ten thousand crashes (T23)',
  },
  {
    id: 'freed-slot-calls-the-next',
    name: 'queue limits: a slot that becomes free calls the next job of its key',
    off: { with: 'nil' },
    spec: LIMITS,
    test: 'limits on running jobs › a limit per concurrency key › holds up only jobs of the same key, and calls them in their order',
  },
  {
    id: 'called-job-has-slot',
    name: 'queue limits: a held job that was moved to the ready list has its slot',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a key that is full › has no slot for newcomers while one who was called is about to run',
  },
  {
    id: 'held-not-overtaken',
    name: 'queue limits: no job overtakes held jobs',
    off: 'remove',
    spec: LIMITS,
    test: 'limits on running jobs › a key that is full › does not let newcomers overtake those who are held up by its rate',
  },
  {
    id: 'free-slot-wakes',
    name: 'queue limits: a free slot wakes waiters',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › who waits is woken › when a slot of the queue gets free',
  },
  {
    id: 'limited-queue-ttl-ends',
    name: 'queue limits: a job whose ttl ends during a lease is ended by the extended path',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › who waits is woken › when the slot of a plain job whose %s gets free',
  },
  {
    id: 'planned-place-counts',
    name: 'queue limits: a plan of the same script counts when a simple job becomes extended',
    off: 'false',
    spec: RATES,
    test: 'limits on running jobs › a plain job that is leased in a limited queue › keeps a heartbeat of the batch that makes another job depend on it',
  },
  {
    id: 'replaced-frees-slot',
    name: 'queue limits: a leased job that is replaced frees its slot',
    off: 'false',
    spec: RATES,
    test: 'rate limits › who waits is woken › when a leased plain job is replaced by one that is due later',
  },
  {
    id: 'undelivered-lease-follows-settings',
    name: 'queue limits: a lease whose answer may not have been sent follows the settings too',
    off: { with: 'not is_free and $&' },
    spec: RATES,
    test: 'limits on running jobs › a plain job that is leased in a limited queue › goes back to the front, also if its answer may not have left',
  },
  {
    id: 'limited-queue-is-extended',
    name: 'queue limits: the extended path handles the leases of a limited queue',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › who waits is woken › when the slot of a plain job that died gets free',
  },
  {
    id: 'rate-sets-a-timer',
    name: 'queue limits: a timer runs when a rate allows more',
    off: 'remove',
    spec: RATES,
    test: 'rate limits › who waits is woken › when its rate allows more',
  },
  {
    id: 'pause-saves-one-burst',
    name: 'queue limits: a pause saves up no more than a burst',
    off: { with: '(tat or now_floor) - now_floor' },
    spec: RATES,
    test: 'rate limits › holds 100 a second with a burst of 20 over two servers: 120 in any second, 100 in the long run (T24)',
  },
  {
    id: 'draining-queue-takes-no-simple-job',
    name: 'queue limits: a draining queue takes no simple job',
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a queue that is drained › takes no new job until it is empty, through any API',
  },
  {
    id: 'draining-refusal-takes-no-quota',
    name: 'queue limits: what a draining queue refuses counts for no quota',
    off: { behind: 2 },
    spec: CONTROLS,
    test: 'pause, resume and settings › a queue that is drained › counts no bytes of what it refuses',
  },
  {
    id: 'change-reads-held-jobs-again',
    name: 'queue limits: the pass over held jobs begins anew with each change',
    off: { with: '"none"' },
    spec: 'test/engine/queue-limits.spec.ts',
    test: 'limits on running jobs › a limit that is lifted while the held jobs of the one before are still looked at › holds no job any more',
  },
  {
    id: 'queue-with-jobs-stays',
    name: 'queues: a queue with jobs is not removed',
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a queue is forgotten › but not while a job is %s',
  },
  {
    id: 'served-queue-is-last',
    name: 'turns: the queue that gave a job last comes last',
    off: 'remove',
    spec: 'test/engine/leasing.spec.ts',
    test: 'leasing from several queues in turns › gives the jobs of a short queue in turns with those of a very long one, whichever server asks (T22)',
  },
  {
    id: 'purge-follows-states',
    name: 'queues: a purge follows jobs into a later state',
    off: 'remove',
    spec: CONTROLS,
    test: 'pause, resume and settings › a purge › finds jobs that get into a later one of the states meanwhile, and leaves one that is published then',
  },
  {
    id: 'purge-reads-blocked-first',
    name: 'queue limits: a purge reads blocked jobs before scheduled ones',
    off: { behind: 1 },
    spec: CONTROLS,
    test: 'pause, resume and settings › a purge › finds jobs that get into a later one of the states meanwhile, and leaves one that is published then',
  },
];
