-- Which fair key of a queue gives the next job (queues/fair_lists): the one with the lowest turn. A lease raises the turn of its key by a cost, which is lower
-- for a higher weight. Jobs without a fair key, simple ones too, have a turn together: the common one. This is start-time fair queueing: a key that had no
-- job begins at the turn of the key that was served last.
--- @requires core/call, core/plan, queues/fair_keys, queues/fair_lists, queues/ranks, queues/zset_reader, extended/jobs, extended/settings
--- @exports types_but, lowest_turn, take_turn_job, is_empty, charge, cost_of

-- Of a lease with weight 1. Weights are at most 1,000, so that costs are whole numbers of at least 1,000.
local COST = 1000000

-- key: nil = jobs without one.
function cost_of(number, key)
  local fair = settings.settings_of(number).fair
  local weights = type(fair) == "table" and fair or {}
  return math.floor(COST / (key and (weights.weights or {})[key] or weights.default or 1) + 0.5)
end

-- What this script knows of the turns of a queue. list: as queues/ready_list_reader has it.
local function state_of(list)
  local fair = list.fair
  if not fair then
    touch(fair_keys.turns_key(list.number))
    local facts = redis.call("HMGET", touch(queue_key("i", list.number)), "served_turn", "common_turn")
    fair = { number = list.number, served = tonumber(facts[1] or 0), keys = {}, directories = {}, paused = {}, candidates = {}, cost = 0 }
    local pauses = settings.settings_of(list.number).pauses
    for key in pairs(pauses and pauses.f or {}) do
      fair.paused[fair_keys.list_name_of(key)] = true
    end
    fair.common = { turn = math.max(fair.served, tonumber(facts[2] or 0)), name = "", is_common = true, is_empty = {} }
    fair.read = { fair.common }
    list.fair = fair
  end
  return fair
end

-- The types of jobs in lists of fair keys, but some: a list, and each as a key.
function types_but(list, without)
  local types = list.fair_types
  if not types then
    types = {}
    for _, type in ipairs(redis.call("SMEMBERS", touch(fair_keys.types_key(list.number)))) do
      if not without[type] then
        types[#types + 1], types[type] = type, true
      end
    end
    list.fair_types = types
  end
  return types
end

-- A job that this script has taken by another list.
local function is_there(id)
  local job = jobs.known_jobs[id]
  return job == nil or job and job.state == READY and not job.is_gone
end

-- A list that is opened costs an eighth of an entry, a type that is passed an eighth of that.
local LIST_COST, TYPE_COST = 1 / 8, 1 / 64

-- The reader of the list of a key with all its jobs, type = false, or with those of a type; and its head; nil = it has none.
local function reader_of_type(fair, key, wanted, type)
  local reader = key.readers[type]
  if not reader then
    reader = zset_reader.open_reader(fair_keys.fair_list_key(fair.number, key.name, type))
    key.readers[type] = reader
    -- guard: fair-lists-of-types-cost
    fair.cost = fair.cost + LIST_COST
  end
  local id, score = zset_reader.read_head(reader, wanted)
  while id and not is_there(id) do
    zset_reader.pass_head(reader)
    id, score = zset_reader.read_head(reader, wanted)
  end
  return id and reader, score
end

-- The reader of the list of a key whose head comes first, of all its jobs or of those of these types.
local function reader_of_key(fair, key, wanted, types)
  local best, lowest
  for _, type in ipairs(types or { false }) do
    local reader, score = reader_of_type(fair, key, wanted, type)
    if reader and (not best or score < lowest) then
      best, lowest = reader, score
    end
  end
  return best
end

-- key.some: a type of which it had a job when this was called last.
local function has_job(fair, key, wanted, types)
  if key.is_common then
    return not key.is_empty[types or "any"]
  elseif (not types or types[key.some]) and reader_of_type(fair, key, wanted, types and key.some or false) then
    return true
  end
  for _, type in ipairs(types or {}) do
    if reader_of_type(fair, key, wanted, type) then
      key.some = type
      return true
    end
  end
  return false
end

local function is_before(key, other)
  return not other or key.turn < other.turn or key.turn == other.turn and ranks.is_behind(other.name, key.name)
end

-- A key that a directory names. turn: as it stands there; in one of a type it may be too low.
local function key_of(fair, name, turn, type)
  local key = fair.keys[name]
  if not key then
    key = { name = name, readers = {} }
    key.turn = type and tonumber(redis.call("ZSCORE", fair_keys.turns_key(fair.number), name) or nil) or turn
    fair.keys[name], fair.read[#fair.read + 1] = key, key
  end
  key.some = type
  if type and key.turn > turn then
    add_member(fair_keys.turns_key(fair.number, type), text_of(key.turn), name)
  end
  return key
end

-- Whole entries that lists and types have cost since the last call.
local function cost_so_far(fair)
  local cost = math.floor(fair.cost)
  fair.cost = fair.cost - cost
  return cost
end

-- The keys that this script has read, but for those that have no job of these types any more. Requests for the same types have the same table.
local function candidates_of(fair, types)
  local candidates = fair.candidates[types or "any"]
  if not candidates then
    candidates = { read = 0 }
    fair.candidates[types or "any"] = candidates
  end
  for n = candidates.read + 1, #fair.read do
    candidates[#candidates + 1] = fair.read[n]
  end
  candidates.read = #fair.read
  return candidates
end

-- Of those, the one with the lowest turn.
local function lowest_candidate(fair, wanted, types)
  local candidates, kept, best = candidates_of(fair, types), 0, nil
  for n = 1, #candidates do
    local key = candidates[n]
    local is_lower = is_before(key, best)
    candidates[n] = nil
    if not is_lower or has_job(fair, key, wanted, types) then
      kept = kept + 1
      candidates[kept], best = key, is_lower and key or best
    end
  end
  return best
end

-- The key with the lowest turn that has a job; nil = none has, or this call has read as many as it may. types: as queues/type_order has them. wanted: how
-- many jobs the script may take. Also returns how many entries the call has cost.
function lowest_turn(list, wanted, types, most)
  local fair, read = state_of(list), 0
  local best = lowest_candidate(fair, wanted, types)
  fair.cost = fair.cost + (types and #types * TYPE_COST or 0)
  for _, type in ipairs(types or { false }) do
    local directory = fair.directories[type] or zset_reader.open_reader(fair_keys.turns_key(list.number, type or nil))
    fair.directories[type] = directory
    local name, turn = zset_reader.read_head(directory, wanted)
    while name and (not best or turn < best.turn or turn == best.turn and ranks.is_behind(best.name, name)) do
      if read >= most then
        return nil, read + cost_so_far(fair)
      end
      zset_reader.pass_head(directory)
      read = read + 1
      local key = --[[ guard: paused-fair-key-is-passed ]] not fair.paused[name] and key_of(fair, name, turn, type)
      if key and is_before(key, best) and has_job(fair, key, wanted, types) then
        best = key
      end
      name, turn = zset_reader.read_head(directory, wanted)
    end
  end
  return best, read + cost_so_far(fair)
end

-- The next job of a key but the common one.
function take_turn_job(list, key, wanted, types)
  local reader = reader_of_key(list.fair, key, wanted, types)
  local id = zset_reader.read_head(reader, wanted)
  local job = jobs.job_of(id, zset_reader.value_of_head(reader))
  zset_reader.pass_head(reader)
  return job
end

-- The common key has no job of these types.
function is_empty(key, types)
  key.is_empty[types or "any"] = true
end

-- A job of the key is leased.
function charge(list, key, job)
  local fair = list.fair
  fair.served = math.max(fair.served, key.turn)
  key.turn = key.turn + --[[ guard: lease-costs-a-turn ]] cost_of(fair.number, fair_keys.fair_key_of(job))
  if not key.is_common then
    fair_lists.set_turn(fair.number, key.name, key.turn)
  end
  fair_lists.set_served(fair.number, fair.served, key.is_common and key.turn or nil)
end
