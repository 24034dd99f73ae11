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
    name: 'unique: a job that ends frees its key',
    file: 'lua/modules/extended/moves.lua',
    from: '  free_unique(job)\n',
    to: '',
    spec: 'test/engine/unique-keys.property.spec.ts',
    test: 'frees it however its job ends',
  },
  {
    name: 'unique: a job frees no key that is another one’s by now',
    file: 'lua/modules/extended/unique_keys.lua',
    from: 'record.id == job.id and record.ends == 0 and',
    to: 'record.ends == 0 and',
    spec: UNIQUE,
    test: 'does not free a key that another job holds',
  },
  {
    name: 'unique: an expired job holds nothing, even before it is removed',
    file: 'lua/modules/extended/unique_keys.lua',
    from: 'record.ends == 0 and lives',
    to: 'record.ends == 0',
    spec: UNIQUE,
    test: 'does not wait for the clock',
  },
  {
    name: 'unique: a leased job is not replaced',
    file: 'lua/modules/extended/unique_claims.lua',
    from: 'holder.is_new or holder.job and holder.job.state == LEASED',
    to: 'holder.is_new',
    spec: UNIQUE,
    test: 'replaces a waiting job, but not a leased one',
  },
  {
    name: 'unique: of the jobs of one call the first one keeps the key',
    file: 'lua/modules/extended/unique_claims.lua',
    from: 'holder.is_new or holder.job and holder.job.state == LEASED',
    to: 'holder.job and holder.job.state == LEASED',
    spec: UNIQUE,
    test: 'replace refuses the call',
  },
  {
    name: 'unique: a dead job does not come back while another one holds its key',
    file: 'lua/modules/extended/dead_jobs.lua',
    from: 'if not retake_unique(job) then',
    to: 'if retake_unique(job) == nil then',
    spec: UNIQUE,
    test: 'is respawned with its key',
  },
  {
    name: 'unique: a window holds its key when its job is gone',
    file: 'lua/modules/extended/unique_keys.lua',
    from: 'record.ends > now_floor or ',
    to: '',
    spec: UNIQUE,
    test: 'holds a key for its window',
  },
  {
    name: 'recurring: the backlog counts a slot that comes just now',
    file: 'lua/modules/timers/recurring.lua',
    from: 'and math.min(recurring.backlog, MOST_MADE) or MOST_MADE',
    to: 'and math.min(recurring.backlog, MOST_MADE) + 1 or MOST_MADE',
    spec: RECURRING,
    test: 'exactly as many as max_catch_up allows',
  },
  {
    name: 'recurring: children of a former life keep their ids',
    file: 'lua/modules/timers/recurring.lua',
    from: 'if not is_taken(child, present) and not (present and present.is_gone) then',
    to: 'if child then',
    spec: RECURRING,
    test: 'passes over the numbers',
  },
  {
    name: 'recurring: of two changes at once, one begins anew',
    file: 'lua/commands/extended/set_recurring.lua',
    from: 'known[1] ~= revision then',
    to: 'not known[1] then',
    spec: RECURRING,
    test: 'loses no change',
  },
  {
    name: 'recurring: what was served is not served again when it is set anew',
    file: 'lua/commands/extended/set_recurring.lua',
    from: 'math.max(now_ceil - 1, is_ahead(last, now_ceil, every_ms) and 0 or last)',
    to: 'now_ceil - 1',
    spec: RECURRING,
    test: 'serves no slot twice',
  },
  {
    name: 'recurring: they keep their namespace alive',
    file: 'lua/commands/maintenance/unregister.lua',
    from: 'queues, namespace_key("schedules")',
    to: 'queues',
    spec: RECURRING,
    test: 'keeps a namespace that has no queue yet',
  },
  {
    name: 'recurring: a quota on queues holds for them',
    file: 'lua/modules/limits/quota_room.lua',
    from: 'not has_quotas or new_room >= 1',
    to: 'true or new_room >= 1',
    spec: RECURRING,
    test: 'honours quotas',
  },
  {
    name: 'retention: what is over goes in bounded steps',
    file: 'lua/modules/timers/steps.lua',
    from: '"LIMIT", 0, steps_left',
    to: '"LIMIT", 0, -1',
    spec: RETENTION,
    test: 'in bounded steps',
  },
  {
    name: 'recurring: a wrong clock makes a thousand jobs at most',
    file: 'lua/modules/timers/recurring.lua',
    from: 'math.min(recurring.backlog, MOST_MADE)',
    to: 'recurring.backlog',
    spec: RECURRING,
    test: 'stored backlog 5000',
  },
  {
    name: 'recurring: what makes up for no slot is late after a minute',
    file: 'lua/modules/timers/recurring.lua',
    from: 'if recurring.skips_late and missed > 0',
    to: 'if false and missed > 0',
    spec: RECURRING,
    test: 'makes none for slots that passed a minute ago',
  },
];
