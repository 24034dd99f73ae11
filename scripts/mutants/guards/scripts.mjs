const MEMORY = 'test/engine/memory.spec.ts';
const MOVE = 'test/engine/cluster-move.spec.ts';
/** All of its cases: `npm test` plays a third of them. */
const LONG = { PUMPHOUSE_CHAOS_ROUNDS: '4' };
/** The script is called after each key that moves. */
const MOVE_WHOLE = { PUMPHOUSE_CHAOS_ROUNDS: '4' };
const BODIES = 'test/engine/leasing.spec.ts';

/**
 * What a script may do in a Cluster that moves a slot, in a full Redis, and to long bodies.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SCRIPTS = [
  {
    name: 'touch first: the pump waits until a slot has moved',
    file: 'lua/commands/maintenance/pump.lua',
    from: ', namespace_key("never")',
    to: '',
    spec: MOVE,
    env: LONG,
    test: 'maintenance_pump goes through',
    env: MOVE_WHOLE,
  },
  {
    name: 'touch first: respawn touches what it will write',
    file: 'lua/commands/simple/respawn.lua',
    from: 'redis.call("EXISTS", meta, expiries, dead, queue_key("r", number), queue_key("g", number))',
    to: '',
    spec: MOVE,
    env: LONG,
    test: 'keys have moved already respawn goes',
    env: MOVE_WHOLE,
  },
  {
    name: 'touch first: a script that removes a job touches its places',
    file: 'lua/modules/jobs/removal.lua',
    from: 'redis.call("EXISTS", meta_key, index.key, queue_key("i", number))',
    to: '',
    spec: MOVE,
    env: LONG,
    test: 'keys have moved already ack goes',
    env: MOVE_WHOLE,
  },
  {
    name: 'touch first: a job that is not there may be on its way',
    file: 'lua/modules/core/header.lua',
    from: 'redis.call("EXISTS", meta_key, job_key(id))',
    to: '',
    spec: MOVE,
    env: LONG,
    test: 'the namespace first, its jobs last',
    env: MOVE_WHOLE,
  },
  {
    name: 'free first: lease',
    file: 'lua/commands/simple/lease.lua',
    from: '-- Write: all lists are trimmed before anything is added.',
    to: 'redis.call("HSET", meta, "grows", 1)',
    spec: MEMORY,
    test: 'can be drained',
  },
  {
    name: 'free first: undo',
    file: 'lua/modules/jobs/deliveries.lua',
    from: '  for _, one in ipairs(planned_returns) do',
    to: '  redis.call("HSET", meta_key, "grows", 1)\n  for _, one in ipairs(planned_returns) do',
    spec: MEMORY,
    test: 'can be drained',
  },
  {
    name: 'free first: the pump',
    file: 'lua/commands/maintenance/pump.lua',
    from: '-- Write: every member of an index goes before anything is added.',
    to: 'redis.call("HSET", meta, "grows", 1)',
    spec: MEMORY,
    test: 'can be drained',
  },
  {
    name: 'touch first: lease reads jobs together',
    file: 'lua/modules/queues/ready_list_reader.lua',
    from: 'redis.call("MGET", unpack(keys))',
    to: '(function()\n    local found = {}\n    for i, key in ipairs(keys) do\n      found[i] = redis.call("MGET", key)[1]\n    end\n    return found\n  end)()',
    spec: MOVE,
    env: LONG,
    test: 'the namespace first, its jobs last lease from one queue goes',
    env: MOVE_WHOLE,
  },
  {
    name: 'touch first: ack and the pump read jobs together',
    file: 'lua/modules/core/values.lua',
    from: 'local found, longest = redis.call("MGET", meta_key, unpack(keys, first, last)), 0',
    to: 'local found, longest = { false }, 0\n  for i = first, last do\n    found[i - first + 2] = redis.call("MGET", keys[i])[1]\n  end',
    spec: MOVE,
    env: LONG,
    test: 'its jobs last, and all that come first have moved already ack goes',
    env: MOVE_WHOLE,
  },
  {
    name: 'a long body of which the header was read is not overwritten by it: the pump',
    file: 'lua/modules/core/values.lua',
    from: 'headers_only[ids[i]] = true',
    to: '',
    spec: BODIES,
    test: 'long ones first',
  },
];
