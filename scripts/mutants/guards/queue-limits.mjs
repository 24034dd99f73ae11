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
    name: 'queue limits: a paused queue gives nothing',
    file: 'lua/modules/limits/at_lease.lua',
    from: 'if set.paused or set.max',
    to: 'if set.max',
    spec: LIMITS,
    test: 'gives no job, plain or rich',
  },
  {
    name: 'queue limits: running simple jobs count with extended ones',
    file: 'lua/modules/limits/slots.lua',
    from: 'redis.call("ZCARD", queue_key("l", number)) + ',
    to: '',
    spec: LIMITS,
    test: 'counts plain and rich ones',
  },
  {
    name: 'queue limits: a late lease holder needs a free slot',
    file: 'lua/modules/leases/claims.lua',
    from: 'return is_free and running_in(job.queue) < (set.max or math.huge)',
    to: 'return is_free',
    spec: LIMITS,
    test: 'refuses a late owner whose slot is taken',
  },
  {
    name: 'queue limits: a late lease holder needs a slot of its concurrency key',
    file: 'lua/modules/leases/claims.lua',
    from: 'return is_free and running_in',
    to: 'return running_in',
    spec: LIMITS,
    test: 'a key that is full refuses a late owner',
  },
  {
    name: 'queue limits: who leaves gives the slot of his key back',
    file: 'lua/modules/limits/slots.lua',
    from: 'free("ZREM", key.slots, job.id)',
    to: 'touch(key.slots)',
    spec: PROPERTY,
    test: 'leaks no slot in ten thousand crashes',
  },
  {
    name: 'queue limits: a slot that gets free calls the next of its key',
    file: 'lua/modules/limits/slots.lua',
    from: 'freed_keys[key.name] = key.taken - 1, key.called - job.x.slot, key',
    to: 'moved[key.name] = key.taken - 1, key.called - job.x.slot, key',
    spec: LIMITS,
    test: 'calls them in their order',
  },
  {
    name: 'queue limits: who is called has a slot already',
    file: 'lua/modules/limits/held_jobs.lua',
    from: '    take_slot(job, 1)\n',
    to: '',
    spec: LIMITS,
    test: 'has no slot for newcomers',
  },
  {
    name: 'queue limits: no job overtakes held jobs',
    file: 'lua/modules/limits/slots.lua',
    from: ' and (job.x.slot or key.held == 0)',
    to: '',
    spec: LIMITS,
    test: 'does not let newcomers overtake',
  },
  {
    name: 'queue limits: a free slot wakes who waits',
    file: 'lua/modules/limits/slots.lua',
    from: '      wake(job.queue)\n',
    to: '',
    spec: RATES,
    test: 'when a slot of the queue gets free',
  },
  {
    name: 'queue limits: the extended path handles the leases of a limited queue',
    file: 'lua/commands/extended/lease.lua',
    from: 'if settings_of(job.queue).max then -- A job',
    to: 'if false then -- A job',
    spec: RATES,
    test: 'when the slot of a plain job that died gets free',
  },
  {
    name: 'queue limits: the clock comes when a rate allows more',
    file: 'lua/modules/limits/at_lease.lua',
    from: 'set_timer("P" .. number, allowed_at(set.rate, set.tat, 1))',
    to: 'touch(queue_key("o", number))',
    spec: RATES,
    test: 'when its rate allows more',
  },
  {
    name: 'queue limits: a pause saves up no more than a burst',
    file: 'lua/modules/limits/rates.lua',
    from: 'math.max((tat or 0) - now_floor, 0)',
    to: '(tat or now_floor) - now_floor',
    spec: RATES,
    test: 'T24',
  },
  {
    name: 'queue limits: a draining queue takes no simple job',
    file: 'lua/modules/limits/queue_settings.lua',
    from: 'codes[item] = "7"',
    to: 'codes[item] = "0"',
    spec: CONTROLS,
    test: 'takes no new job until it is empty',
  },
  {
    name: 'queue limits: what a draining queue refuses counts for no quota',
    file: 'lua/commands/simple/publish.lua',
    from: 'if next(is_extended_queue) then\n  --- @requires limits/queue_settings\n  refuse_by_settings(ARGV, 7, codes, publish_kinds, old)\n  if has_native_kinds then\n    --- @requires jobs/queue_defaults\n    use_queue_defaults(ARGV, 7, codes, sizes)\n  end\nend\nif quotas ~= "" then\n  --- @requires limits/quotas\n  stored_bytes = admit_calls(quotas, ARGV, 7, codes, publish_kinds, old, replaces)\nend\n',
    to: 'if quotas ~= "" then\n  --- @requires limits/quotas\n  stored_bytes = admit_calls(quotas, ARGV, 7, codes, publish_kinds, old, replaces)\nend\nif next(is_extended_queue) then\n  --- @requires limits/queue_settings\n  refuse_by_settings(ARGV, 7, codes, publish_kinds, old)\n  if has_native_kinds then\n    --- @requires jobs/queue_defaults\n    use_queue_defaults(ARGV, 7, codes, sizes)\n  end\nend\n',
    spec: CONTROLS,
    test: 'counts no bytes of what it refuses',
  },
  {
    name: 'queue limits: the look at held jobs begins anew with each change',
    file: 'lua/commands/extended/change_queue.lua',
    from: '{ "seen" }',
    to: '{ "none" }',
    spec: 'test/engine/queue-limits.spec.ts',
    test: 'holds no job any more',
  },
  {
    name: 'queue limits: a queue with jobs is not forgotten',
    file: 'lua/commands/extended/delete_queue.lua',
    from: 'if head.taken < math.min(length, MOST_READ) or tonumber',
    to: 'if tonumber',
    spec: CONTROLS,
    test: 'but not while a job is',
  },
  {
    name: 'turns: the queue that gave a job last comes last',
    file: 'lua/commands/extended/lease.lua',
    from: 'took_turn(queue.name, number)',
    to: 'touch(meta)',
    spec: 'test/engine/leasing.spec.ts',
    test: 'T22',
  },
];
