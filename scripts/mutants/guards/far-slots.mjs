const FAR = 'test/engine/far-slots.spec.ts';
const SLOTS = 'test/engine/far-slots.spec.ts';
const FORMAT = 'test/engine/data-format.spec.ts';

/**
 * Jobs far ahead, and the data formats.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FAR_SLOTS = [
  {
    name: 'an entry of a far slot counts only for the life of the job that it was made for',
    file: 'lua/modules/jobs/schedule.lua',
    from: 'if state == SCHEDULED and at == number and place == string.byte(entry, -1) then',
    to: 'if state == SCHEDULED and at == number then',
    spec: FAR,
    test: 'leaves an entry that is not taken for a later job of that name, in queue q',
  },
  {
    name: 'a chosen id is distinguished from the entry of a former life',
    file: 'lua/modules/jobs/publish.lua',
    from: 'kind.minted and 0 or 1',
    to: '0',
    spec: FAR,
    test: 'leaves an entry that is not taken for a later job of that name, in queue q',
  },
  {
    name: 'an entry of a far slot whose job has gone is dropped',
    file: 'lua/modules/jobs/schedule.lua',
    from: 'if state == SCHEDULED and at == number and place == string.byte(entry, -1) then',
    to: 'if place == 0 then',
    spec: FAR,
    test: 'leaves nothing but its entry',
  },
  {
    name: 'a far job that goes is counted out',
    file: 'lua/modules/jobs/removal.lua',
    from: 'if found < #index.members then',
    to: 'if false then',
    spec: FAR,
    test: 'is counted exactly',
  },
  {
    name: 'a chosen id is never kept in a far slot',
    file: 'lua/modules/jobs/publish.lua',
    from: 'touch_schedule(number, kind.due, kind.minted)',
    to: 'touch_schedule(number, kind.due, true)',
    spec: FAR,
    test: 'has an id that the server made',
  },
  {
    name: 'a job that expires before it is due is looked at when it expires',
    file: 'lua/modules/jobs/publish.lua',
    from: 'if expires > 0 and expires < kind.due then',
    to: 'if false then',
    spec: FAR,
    test: 'is gone when its ttl ends',
  },
  {
    name: 'a slot is opened before it begins',
    file: 'lua/modules/jobs/schedule.lua',
    from: 'local opens_ms = to.slot * SLOT_MS - LEAD_MS',
    to: 'local opens_ms = (to.slot + 1) * SLOT_MS',
    spec: FAR,
    test: 'is ready on time and never early',
  },
  {
    name: 'a late slot goes first',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'if not is_late then',
    to: 'if true then',
    spec: SLOTS,
    test: 'that are late come before',
  },
  {
    name: 'a slot is opened in bounded steps',
    file: 'lua/modules/jobs/schedule.lua',
    from: 'local entries = redis.call("LRANGE", key, 0, share - 1)',
    to: 'local entries = redis.call("LRANGE", key, 0, -1)',
    spec: SLOTS,
    test: 'are opened in bounded steps',
  },
  {
    name: 'a queue with a far job is not forgotten',
    file: 'lua/commands/maintenance/tidy.lua',
    from: ' and others == 0 and not is_far\n',
    to: ' and others == 0\n',
    spec: SLOTS,
    test: 'of a queue with one job left are not',
  },
  {
    name: 'a newer data format is refused',
    file: 'src/redis/inspect.ts',
    from: 'else if (Number(found) > DATA_FORMAT) {',
    to: 'else if (Number(found) > DATA_FORMAT * 100) {',
    spec: FORMAT,
    test: 'is refused when it is newer',
  },
  {
    name: 'an older data format is raised to ours',
    file: 'src/redis/inspect.ts',
    from: 'else if (Number(found) < DATA_FORMAT) await',
    to: 'else if (Number(found) < 0) await',
    spec: FORMAT,
    test: 'is given the number of ours',
  },
  {
    name: 'the dead outlive the TTL of an older data format',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'redis.call("PERSIST", key)',
    to: 'redis.call("EXISTS", key)',
    spec: FORMAT,
    test: 'keeps its dead',
  },
  {
    name: 'a huge slot takes its share of a step, and no more',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'local quota = math.min(limit, share * 2 - #step.scheduled - #step.leased)',
    to: 'local quota = limit',
    spec: SLOTS,
    test: 'do not keep a lease of another queue waiting',
  },
  {
    name: 'a queue with far jobs that is not among what is due is put back there',
    file: 'lua/commands/maintenance/tidy.lua',
    from: 'if #forgotten_due > 0 then',
    to: 'if false then',
    spec: SLOTS,
    test: 'that a server of an older version has dropped',
  },
  {
    name: 'a full store of an older data format can be opened',
    file: 'src/redis/inspect.ts',
    from: "if (fault !== 'full' && fault !== 'disk') throw error;",
    to: 'throw error ?? fault;',
    spec: FORMAT,
    test: 'can be opened and drained',
  },
];
