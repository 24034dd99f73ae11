const UNIQUE = 'test/redis/unique-keys.spec.ts';
const RECURRING = 'test/redis/recurring.spec.ts';
const RETENTION = 'test/redis/retention.spec.ts';

/**
 * Unique keys, recurring jobs and retention.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SCHEDULES = [
  {
    name: 'unique: a job that ends frees its key',
    file: 'lua/lib/full/end.lua',
    from: '  free_unique(job)\n',
    to: '',
    spec: 'test/redis/unique-keys.property.spec.ts',
    test: 'frees it however its job ends',
  },
  {
    name: 'unique: a job frees no key that is another one’s by now',
    file: 'lua/lib/full/unique.lua',
    from: 'record.id == job.id and record.ends == 0 and',
    to: 'record.ends == 0 and',
    spec: UNIQUE,
    test: 'does not free a key that somebody else holds',
  },
  {
    name: 'unique: a job that has expired holds nothing, though nobody has cleared it away',
    file: 'lua/lib/full/unique.lua',
    from: 'record.ends == 0 and lives',
    to: 'record.ends == 0',
    spec: UNIQUE,
    test: 'does not wait for the clock',
  },
  {
    name: 'unique: a job that somebody works on is not replaced',
    file: 'lua/lib/full/claim_key.lua',
    from: 'holder.is_new or holder.job and holder.job.state == LEASED',
    to: 'holder.is_new',
    spec: UNIQUE,
    test: 'replaces a job that waits, and none that somebody has',
  },
  {
    name: 'unique: of the jobs of one call the first one keeps the key',
    file: 'lua/lib/full/claim_key.lua',
    from: 'holder.is_new or holder.job and holder.job.state == LEASED',
    to: 'holder.job and holder.job.state == LEASED',
    spec: UNIQUE,
    test: 'replace refuses the call',
  },
  {
    name: 'unique: a dead job does not come back while another one holds its key',
    file: 'lua/lib/full/raise.lua',
    from: 'if not retake_unique(job) then',
    to: 'if retake_unique(job) == nil then',
    spec: UNIQUE,
    test: 'comes back from the dead with its key',
  },
  {
    name: 'unique: a window holds its key when its job is gone',
    file: 'lua/lib/full/unique.lua',
    from: 'record.ends > now_floor or ',
    to: '',
    spec: UNIQUE,
    test: 'holds a key for its window',
  },
  {
    name: 'recurring: the backlog counts a slot that comes just now',
    file: 'lua/lib/full/slots.lua',
    from: 'math.max(missed - recurring.backlog, 0)',
    to: 'math.max(missed - recurring.backlog - 1, 0)',
    spec: RECURRING,
    test: 'exactly as many as the backlog allows',
  },
  {
    name: 'recurring: children of a former life keep their ids',
    file: 'lua/lib/full/slots.lua',
    from: 'if not is_taken(child, present) and not (present and present.is_gone) then',
    to: 'if child then',
    spec: RECURRING,
    test: 'passes over the numbers',
  },
  {
    name: 'recurring: of two changes at once, one begins anew',
    file: 'lua/scripts/full_recur_set.lua',
    from: 'known[1] ~= revision then',
    to: 'not known[1] then',
    spec: RECURRING,
    test: 'loses no change',
  },
  {
    name: 'recurring: what was served is not served again when it is set anew',
    file: 'lua/scripts/full_recur_set.lua',
    from: 'math.max(now_ceil - 1, tonumber(known[5] or 0))',
    to: 'now_ceil - 1',
    spec: RECURRING,
    test: 'serves no slot twice',
  },
  {
    name: 'recurring: they keep their namespace alive',
    file: 'lua/scripts/unregister.lua',
    from: 'queues, space_key("schedules")',
    to: 'queues',
    spec: RECURRING,
    test: 'keeps a namespace that has no queue yet',
  },
  {
    name: 'recurring: a quota on queues holds for them',
    file: 'lua/lib/full/spawn.lua',
    from: 'quotas ~= "" and new_room < 1',
    to: 'quotas == "" and new_room < 1',
    spec: RECURRING,
    test: 'honours quotas',
  },
  {
    name: 'retention: what is over goes in bounded steps',
    file: 'lua/lib/full/clock.lua',
    from: '"LIMIT", 0, limit',
    to: '"LIMIT", 0, -1',
    spec: RETENTION,
    test: 'in bounded steps',
  },
];
