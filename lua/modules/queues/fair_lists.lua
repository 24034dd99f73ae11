-- Ready jobs of fair queues: a zset for each fair key, with the scores that extended/ready_entries gives. Each key has a turn, a number: the key with the
-- lowest one gives the next job (queues/fair_turns). Jobs without a key are where they would be in a queue that is not fair.
--- @requires core/call, core/header, core/plan, queues/registry, queues/type_keys, queues/type_lists, queues/fair_keys, extended/jobs
--- @exports joins_fair_list, fair_list_of, score_in_fair_list, enters_fair_list, join_fair_list, leave_fair_list, add_to_fair_list, index_by_type, set_turn, set_served, pay_back

-- Whether a job that becomes ready goes to the list of its fair key.
function joins_fair_list(job)
  return is_extended(job) and registry.fairness_of(job.queue) == "on" and fair_keys.fair_key_of(job) ~= nil
end

local function list_name(job)
  return fair_keys.list_name_of(fair_keys.fair_key_of(job))
end

-- The list to which a job goes that becomes ready; nil = to none of a fair key.
function fair_list_of(job)
  return joins_fair_list(job) and fair_keys.fair_list_key(job.queue, list_name(job)) or nil
end

-- The score of a ready job in the list of its fair key; false = it is not there. A queue that is fair no more may still have some.
function score_in_fair_list(job)
  local may_be_there = registry.fairness_of(job.queue) and fair_keys.fair_key_of(job)
  return may_be_there and redis.call("ZSCORE", fair_keys.fair_list_key(job.queue, list_name(job)), job.id)
end

-- Of a key whose list changes. key.turn: its new turn, nil = as it was.
local function write_turn(number, name, key, served)
  local turns, kept = fair_keys.turns_key(number), fair_keys.kept_turns_key(number)
  local present = tonumber(redis.call("ZSCORE", turns, name) or nil)
  local turn = key.turn or present
  if redis.call("EXISTS", fair_keys.fair_list_key(number, name)) == 1 then
    turn = turn or --[[ guard: idle-key-gets-no-credit ]] math.max(served, tonumber(redis.call("ZSCORE", kept, name) or 0))
    if turn ~= present then
      redis.call("ZADD", turns, text_of(turn), name)
    end
    if not present then
      redis.call("ZREM", kept, name)
    end
  elseif present then
    redis.call("ZREM", turns, name)
    -- guard: emptied-key-keeps-its-turn
    if turn > served then
      redis.call("ZADD", kept, text_of(turn), name)
    end
  end
  for type in pairs(key.types) do
    local has_some = redis.call("EXISTS", fair_keys.fair_list_key(number, name, type)) == 1
    redis.call(has_some and "ZADD" or "ZREM", fair_keys.turns_key(number, type), unpack(has_some and { text_of(turn), name } or { name }))
    if has_some or redis.call("EXISTS", fair_keys.turns_key(number, type)) == 0 then
      redis.call(has_some and "SADD" or "SREM", fair_keys.types_key(number), type)
    end
  end
end

-- Turns that lie behind are dropped: more in each script than one adds.
local MOST_DROPPED = 16
local function drop_kept_turns(number, served, charged)
  local kept = fair_keys.kept_turns_key(number)
  local names = redis.call("ZRANGEBYSCORE", kept, "-inf", text_of(served), "LIMIT", 0, MOST_DROPPED + 2 * charged)
  if #names > 0 then
    redis.call("ZREM", kept, unpack(names))
  end
end

local function write_changes(number, change)
  local facts = queue_key("i", number)
  local served, charged = change.served or tonumber(redis.call("HGET", facts, "served_turn") or 0), 0
  for name, key in pairs(change.keys) do
    write_turn(number, name, key, served)
    charged = charged + (key.turn and 1 or 0)
  end
  if change.more ~= 0 then
    redis.call("HINCRBY", facts, "typed", change.more)
  end
  if change.served then
    redis.call("HSET", facts, "served_turn", text_of(served))
    drop_kept_turns(number, served, charged)
  end
  if change.common then
    redis.call("HSET", facts, "common_turn", text_of(change.common))
  end
end

-- By queue: keys whose lists or turns change, each with the types of its jobs; and by how many jobs all together.
local changes = {}
local function change_of(number)
  local change = changes[number]
  if not change then
    change = { keys = {}, more = 0 }
    changes[number] = change
    touch(fair_keys.turns_key(number))
    touch(fair_keys.kept_turns_key(number))
    touch(queue_key("i", number))
    plan.lasts[#plan.lasts + 1] = function()
      write_changes(number, change)
    end
  end
  return change
end

local function key_change(number, name)
  local change = change_of(number)
  local key = change.keys[name]
  if not key then
    key = { types = {} }
    change.keys[name] = key
    touch(fair_keys.fair_list_key(number, name))
  end
  return key
end

local function note_change(job, name, more)
  local key, type = key_change(job.queue, name), job.x.type or ""
  if registry.is_by_type(job.queue) and not key.types[type] then
    key.types[type] = true
    touch(fair_keys.fair_list_key(job.queue, name, type))
    touch(fair_keys.turns_key(job.queue, type))
    touch(fair_keys.types_key(job.queue))
  end
  changes[job.queue].more = changes[job.queue].more + more
end

-- The same, of a job that becomes ready now: touches what join_fair_list writes.
function enters_fair_list(job)
  job.is_fair = joins_fair_list(job)
  if job.is_fair then
    note_change(job, list_name(job), 0)
  end
  return job.is_fair
end

function join_fair_list(job)
  local number, name = job.queue, list_name(job)
  local score = text_of((job.priority + 0.5) * PLACES + type_lists.step_of(job))
  redis.call("ZADD", fair_keys.fair_list_key(number, name), score, job.id)
  -- guard: fair-list-is-also-by-type
  if registry.is_by_type(number) then
    redis.call("ZADD", fair_keys.fair_list_key(number, name, job.x.type or ""), score, job.id)
  end
  job.entry = type_keys.LISTED
  note_change(job, name, 1)
end

-- Like join_fair_list, while a script reads. score: as text.
function add_to_fair_list(job, score)
  local number, name = job.queue, list_name(job)
  jobs.will_change(job).entry = type_keys.LISTED
  add_member(fair_keys.fair_list_key(number, name), score, job.id)
  if registry.is_by_type(number) then
    add_member(fair_keys.fair_list_key(number, name, job.x.type or ""), score, job.id)
  end
  note_change(job, name, 1)
end

-- A ready job that came to the list of its fair key before workers leased by type.
function index_by_type(job)
  local name = list_name(job)
  local key = fair_keys.fair_list_key(job.queue, name, job.x.type or "")
  add_member(key, redis.call("ZSCORE", fair_keys.fair_list_key(job.queue, name), job.id), job.id)
  note_change(job, name, 0)
end

-- Returns false if the job is not in the list of its fair key.
function leave_fair_list(job)
  if not score_in_fair_list(job) then
    return false
  end
  local number, name = job.queue, list_name(job)
  remove_member(fair_keys.fair_list_key(number, name), job.id)
  if registry.is_by_type(number) then
    remove_member(fair_keys.fair_list_key(number, name, job.x.type or ""), job.id)
  end
  note_change(job, name, -1)
  return true
end

function set_turn(number, name, turn)
  key_change(number, name).turn = turn
end

-- served: the turn of the key that gave a job last. common: the turn of jobs without a key, nil = as it was.
function set_served(number, served, common)
  local change = change_of(number)
  change.served, change.common = served, common or change.common
end

-- A lease is undone: it counts for nothing. cost: what it had cost.
function pay_back(job, cost)
  local number, key = job.queue, fair_keys.fair_key_of(job)
  if not key then
    local change = change_of(number)
    change.common = math.max((change.common or tonumber(redis.call("HGET", queue_key("i", number), "common_turn") or 0)) - cost, 0)
    return
  end
  local name = fair_keys.list_name_of(key)
  local change = key_change(number, name)
  local turn = change.turn or tonumber(redis.call("ZSCORE", fair_keys.turns_key(number), name) or redis.call("ZSCORE", fair_keys.kept_turns_key(number), name) or nil)
  change.turn = turn and math.max(turn - cost, 0)
end
