-- Concurrency keys, each read once for each script. A job has a slot from when it is made ready, or leased, until it leaves: the zset of its key has those
-- that are ready with score 1, those that run with 0. In a strict order a job keeps its slot until it ends: score 2 while it waits for its next attempt, 3
-- while it is dead and blocks its key. Jobs without a slot are in the key's zset of held jobs.
--- @requires core/call, core/plan, extended/jobs, extended/settings, limits/rates
--- @exports RUN_SLOT, READY_SLOT, WAIT_SLOT, DEAD_SLOT, concurrency_key_named, concurrency_key_of, holding_key_of, most_counted, take_slot, free_slot, is_paused, has_limits, room_of

-- Scores of slots.
RUN_SLOT = 0
READY_SLOT = 1
WAIT_SLOT = 2
DEAD_SLOT = 3

-- The highest score that counts for the limit of a key. Higher ones are of a strict order that has ended since.
function most_counted(number)
  local set = settings.settings_of(number)
  return set.strict and (set.block and DEAD_SLOT or WAIT_SLOT) or READY_SLOT
end

-- Whether a queue limits jobs of a key, or pauses some.
function has_limits(number)
  local set = settings.settings_of(number)
  return set.kmax or set.krate or set.pauses and next(set.pauses.k) ~= nil
end

local keyed = {}

function concurrency_key_named(name, number)
  local key = keyed[name]
  if not key then
    key = { name = name, number = number, slots = touch(namespace_key("c" .. name)), held_key = touch(namespace_key("w" .. name)) }
    key.taken, key.called = redis.call("ZCOUNT", key.slots, RUN_SLOT, most_counted(number)), redis.call("ZCOUNT", key.slots, READY_SLOT, READY_SLOT)
    -- What this script does: jobs that it holds, and those to which it gives a slot before they run.
    key.newly, key.entered = {}, {}
    key.held, key.tat = redis.call("ZCARD", key.held_key), tonumber(redis.call("GET", touch(namespace_key("T" .. name))) or 0)
    keyed[name] = key
  end
  return key
end

function concurrency_key_of(job)
  return concurrency_key_named(job.queue .. ":" .. redis.sha1hex(job.x.ckey), job.queue)
end

-- The key among whose held jobs a held job is: its own, or that of an origin (limits/push_origins).
function holding_key_of(job)
  -- A concurrency key has no control characters, so no job's own key is that of an origin.
  return job.x.hold and concurrency_key_named(job.queue .. ":" .. redis.sha1hex("push\n" .. job.x.hold), job.queue) or concurrency_key_of(job)
end

local function count(key, slot, change)
  key.taken = key.taken + (slot <= most_counted(key.number) and change or 0)
  key.called = key.called + (slot == READY_SLOT and change or 0)
end

function take_slot(job, slot)
  local key = concurrency_key_of(job)
  count(key, slot, 1)
  add_member(key.slots, slot, job.id)
  jobs.put(job, "slot", slot)
  if slot == READY_SLOT then
    key.entered[#key.entered + 1] = job
  end
end

function free_slot(job)
  local key = concurrency_key_of(job)
  count(key, tonumber(job.x.slot), -1)
  -- guard: ended-job-frees-its-slot
  remove_member(key.slots, job.id)
  jobs.put(job, "slot", nil)
  return key
end

-- Whether its jobs are paused.
function is_paused(key)
  local pauses = --[[ guard: paused-key-is-passed ]] settings.settings_of(key.number).pauses
  return pauses and pauses.k[key.name] or false
end

-- How many more jobs may have a slot now; below 0 if there are too many.
function room_of(key)
  if is_paused(key) then
    return 0
  end
  local set = settings.settings_of(key.number)
  local room = (set.kmax or math.huge) - key.taken
  return set.krate and math.min(room, rates.allowance(set.krate, key.tat) - key.called) or room
end
