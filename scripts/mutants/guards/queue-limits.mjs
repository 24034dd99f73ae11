const LIMITS = 'test/redis/queue-limits.spec.ts';
const RATES = 'test/redis/queue-rates.spec.ts';
const CONTROLS = 'test/redis/queue-controls.spec.ts';
const PROPERTY = 'test/redis/queue-limits-property.spec.ts';

/**
 * Limits of queues: what may run at once, how often something begins, and what is refused.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const QUEUE_LIMITS = [
  {
    name: 'queue limits: a paused queue gives nothing',
    file: 'lua/lib/full/hold.lua',
    from: 'if set.paused or set.max',
    to: 'if set.max',
    spec: LIMITS,
    test: 'gives no job, plain or rich',
  },
  {
    name: 'queue limits: plain jobs that run count with rich ones',
    file: 'lua/lib/full/settings.lua',
    from: 'redis.call("ZCARD", queue_key("l", number)) + ',
    to: '',
    spec: LIMITS,
    test: 'counts plain and rich ones',
  },
  {
    name: 'queue limits: a late owner needs a free slot',
    file: 'lua/lib/full/claim.lua',
    from: 'return is_free and limits.running_in(job.queue) < (set.max or math.huge)',
    to: 'return is_free',
    spec: LIMITS,
    test: 'refuses a late owner whose slot is taken',
  },
  {
    name: 'queue limits: a late owner needs a slot of his key',
    file: 'lua/lib/full/claim.lua',
    from: 'return is_free and limits.running_in',
    to: 'return limits.running_in',
    spec: LIMITS,
    test: 'a key that is full refuses a late owner',
  },
  {
    name: 'queue limits: who leaves gives the slot of his key back',
    file: 'lua/lib/full/moves.lua',
    from: 'free("ZREM", key.slots, job.id)',
    to: 'touch(key.slots)',
    spec: PROPERTY,
    test: 'leaks no slot in ten thousand crashes',
  },
  {
    name: 'queue limits: a slot that gets free calls the next of its key',
    file: 'lua/lib/full/moves.lua',
    from: 'limits.freed[key.name] = key.taken - 1, key.called - job.x.slot, key',
    to: 'limits.moved[key.name] = key.taken - 1, key.called - job.x.slot, key',
    spec: LIMITS,
    test: 'calls them in their order',
  },
  {
    name: 'queue limits: who is called has a slot already',
    file: 'lua/lib/full/call.lua',
    from: '      limits.take_slot(job, 1)\n',
    to: '',
    spec: LIMITS,
    test: 'has no slot for newcomers',
  },
  {
    name: 'queue limits: nobody overtakes those who are held up',
    file: 'lua/lib/full/keyed.lua',
    from: ' and (job.x.slot or key.held == 0)',
    to: '',
    spec: LIMITS,
    test: 'does not let newcomers overtake',
  },
  {
    name: 'queue limits: a free slot wakes who waits',
    file: 'lua/lib/full/moves.lua',
    from: '      wake(job.queue)\n',
    to: '',
    spec: RATES,
    test: 'when a slot of the queue gets free',
  },
  {
    name: 'queue limits: the full lane tends what runs in a limited queue',
    file: 'lua/lib/full/lease.lua',
    from: 'item.worker ~= "" or settings_of(job.queue).max then',
    to: 'item.worker ~= "" then',
    spec: RATES,
    test: 'when the slot of a plain job that died gets free',
  },
  {
    name: 'queue limits: the clock comes when a rate allows more',
    file: 'lua/lib/full/hold.lua',
    from: 'set_timer("P" .. number, limits.allowed_at(set.rate, set.tat, 1))',
    to: 'touch(queue_key("o", number))',
    spec: RATES,
    test: 'when its rate allows more',
  },
  {
    name: 'queue limits: a pause saves up no more than a burst',
    file: 'lua/lib/full/rates.lua',
    from: 'math.max((tat or 0) - now_floor, 0)',
    to: '(tat or now_floor) - now_floor',
    spec: RATES,
    test: 'T24',
  },
  {
    name: 'queue limits: a draining queue takes no plain job',
    file: 'lua/lib/refuse_full.lua',
    from: 'codes[item] = "7"',
    to: 'codes[item] = "0"',
    spec: CONTROLS,
    test: 'takes no new job until it is empty',
  },
  {
    name: 'queue limits: what a draining queue refuses counts for no quota',
    file: 'lua/scripts/publish.lua',
    from: '--- @include "lib/refuse_full"\n--- @include "lib/admit"\n',
    to: '--- @include "lib/admit"\n--- @include "lib/refuse_full"\n',
    spec: CONTROLS,
    test: 'counts no bytes of what it refuses',
  },
  {
    name: 'queue limits: a queue with jobs is not forgotten',
    file: 'lua/scripts/full_drop.lua',
    from: 'if live > 0 or kept_in',
    to: 'if kept_in',
    spec: CONTROLS,
    test: 'but not while a job is',
  },
  {
    name: 'turns: the queue that gave a job last comes last',
    file: 'lua/lib/full/share.lua',
    from: 'took_turn(queue.name, number)',
    to: 'touch(meta)',
    spec: 'test/redis/fairness.spec.ts',
    test: 'T22',
  },
];
