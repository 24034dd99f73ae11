const MEMORY = 'test/redis/memory.spec.ts';
const MOVE = 'test/redis/cluster-move.spec.ts';
const BODIES = 'test/redis/long-bodies.spec.ts';

/**
 * What a script may do in a Cluster that moves a slot, in a full Redis, and to long bodies.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SCRIPTS = [
  {
    name: 'touch first: the pump waits until a slot has moved',
    file: 'lua/scripts/pump.lua',
    from: ', space_key("never")',
    to: '',
    spec: 'test/redis/cluster-move-full.spec.ts',
    test: 'the pump goes through',
  },
  {
    name: 'touch first: respawn touches what it will write',
    file: 'lua/scripts/respawn.lua',
    from: 'redis.call("EXISTS", meta, expiries, dead, queue_key("r", number), queue_key("g", number))',
    to: '',
    spec: MOVE,
    test: 'keys have moved already respawn goes',
  },
  {
    name: 'touch first: whoever removes a job touches its places',
    file: 'lua/lib/remove.lua',
    from: 'redis.call("EXISTS", meta, place.key, queue_key("i", number))',
    to: '',
    spec: MOVE,
    test: 'keys have moved already ack goes',
  },
  {
    name: 'touch first: a job that is not there may be on its way',
    file: 'lua/lib/header.lua',
    from: 'redis.call("EXISTS", meta, job_key(id))',
    to: '',
    spec: MOVE,
    test: 'the namespace first, its jobs last',
  },
  {
    name: 'free first: reserve',
    file: 'lua/scripts/reserve.lua',
    from: '-- Write: all lists are cut before anything is added.',
    to: 'redis.call("HSET", meta, "grows", 1)',
    spec: MEMORY,
    test: 'can be drained',
  },
  {
    name: 'free first: undo',
    file: 'lua/lib/give_back.lua',
    from: '  for _, lease in ipairs(given) do',
    to: '  redis.call("HSET", meta, "grows", 1)\n  for _, lease in ipairs(given) do',
    spec: MEMORY,
    test: 'can be drained',
  },
  {
    name: 'free first: the pump',
    file: 'lua/scripts/pump.lua',
    from: '-- Write: every index entry goes before anything is added.',
    to: 'redis.call("HSET", meta, "grows", 1)',
    spec: MEMORY,
    test: 'can be drained',
  },
  {
    name: 'touch first: reserve reads jobs together',
    file: 'lua/lib/window.lua',
    from: 'redis.call("MGET", unpack(keys))',
    to: `(function()
    local found = {}
    for i, key in ipairs(keys) do
      found[i] = redis.call("MGET", key)[1]
    end
    return found
  end)()`,
    spec: MOVE,
    test: 'the namespace first, its jobs last reserve from one queue goes',
  },
  {
    name: 'touch first: ack and the pump read jobs together',
    file: 'lua/lib/read_values.lua',
    from: 'local found, longest = redis.call("MGET", meta, unpack(keys, first, last)), 0',
    to: `local found, longest = { false }, 0
  for i = first, last do
    found[i - first + 2] = redis.call("MGET", keys[i])[1]
  end`,
    spec: MOVE,
    test: 'its jobs last, and all that come first have moved already ack goes',
  },
  {
    name: 'a long body of which the header was read is not overwritten by it: the pump',
    file: 'lua/lib/read_values.lua',
    from: 'headers_only[ids[i]] = true',
    to: '',
    spec: BODIES,
    test: 'long ones first',
  },
];
