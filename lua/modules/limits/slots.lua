-- Slots of concurrency keys, and how many jobs of a queue run. A job has a slot from when it is made ready out of the held jobs, or leased, until it
-- leaves: the zset of its key has those that are ready with score 1, those that run with 0. Jobs without a slot are in the key's zset of held jobs. left
-- and runs see every move.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, limits/rates
--- @exports concurrency_key_named, concurrency_key_of, take_slot, room_of, has_slot, freed_keys, running_in, left, runs

local keyed = {}

function concurrency_key_named(name, number)
  local key = keyed[name]
  if not key then
    key = { name = name, number = number, slots = touch(namespace_key("c" .. name)), held_key = touch(namespace_key("w" .. name)) }
    key.taken, key.called = redis.call("ZCARD", key.slots), redis.call("ZCOUNT", key.slots, 1, 1)
    key.held, key.tat = redis.call("ZCARD", key.held_key), tonumber(redis.call("GET", touch(namespace_key("T" .. name))) or 0)
    keyed[name] = key
  end
  return key
end

function concurrency_key_of(job)
  return concurrency_key_named(job.queue .. ":" .. redis.sha1hex(job.x.ckey), job.queue)
end

function take_slot(job, called)
  local key = concurrency_key_of(job)
  key.taken, key.called = key.taken + 1, key.called + called
  write("ZADD", key.slots, called, job.id)
  put(job, "slot", called)
end

-- How many more jobs may have a slot now; below 0 if there are too many.
function room_of(key)
  local set = settings_of(key.number)
  local room = (set.kmax or math.huge) - key.taken
  return set.krate and math.min(room, allowance(set.krate, key.tat) - key.called) or room
end

-- Whether the key lets a job run: it has a slot, or there is room and no job of its key is held before it.
function has_slot(job)
  local key = job.x.ckey and concurrency_key_of(job)
  return not key or room_of(key) >= (job.x.slot and 0 or 1) and (job.x.slot or key.held == 0)
end

-- Keys by their names: a job left its slot, or limits allow more. commit makes jobs that they hold ready.
freed_keys = {}

-- How many jobs of a queue run: simple and extended ones together. What this script has planned counts as done.
local moved = {}
function running_in(number)
  local there = redis.call("ZCARD", queue_key("l", number)) + redis.call("ZCARD", queue_key("L", number))
  return there + (moved[number] or 0)
end

-- Before a job leaves its place.
function left(job)
  local key = (job.x.slot or job.state == HELD) and concurrency_key_of(job)
  if job.state == LEASED then
    moved[job.queue] = (moved[job.queue] or 0) - 1
    if settings_of(job.queue).max then
      wake(job.queue)
    end
  elseif job.state == HELD then
    key.held = key.held - 1
    free("ZREM", key.held_key, job.id)
  end
  if job.x.slot then
    key.taken, key.called, freed_keys[key.name] = key.taken - 1, key.called - job.x.slot, key
    free("ZREM", key.slots, job.id)
    put(job, "slot", nil)
  end
end

-- When it is leased.
function runs(job)
  moved[job.queue] = (moved[job.queue] or 0) + 1
  if job.x.ckey then
    take_slot(job, 0)
    put(job, "place", nil)
  end
end
