-- Concurrency keys, each read once for each script. A job has a slot from when it is made ready, or leased, until it leaves: the zset of its key has those
-- that are ready with score 1, those that run with 0. Jobs without a slot are in the key's zset of held jobs.
--- @requires core/call, core/plan, extended/jobs, extended/settings, limits/rates
--- @exports concurrency_key_named, concurrency_key_of, holding_key_of, take_slot, room_of

local keyed = {}

function concurrency_key_named(name, number)
  local key = keyed[name]
  if not key then
    key = { name = name, number = number, slots = touch(namespace_key("c" .. name)), held_key = touch(namespace_key("w" .. name)) }
    key.taken, key.called = redis.call("ZCARD", key.slots), redis.call("ZCOUNT", key.slots, 1, 1)
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
  return job.x.hold and concurrency_key_named(job.queue .. ":" .. redis.sha1hex("push " .. job.x.hold), job.queue) or concurrency_key_of(job)
end

function take_slot(job, called)
  local key = concurrency_key_of(job)
  key.taken, key.called = key.taken + 1, key.called + called
  add_member(key.slots, called, job.id)
  jobs.put(job, "slot", called)
  if called ~= 0 then
    key.entered[#key.entered + 1] = job
  end
end

-- How many more jobs may have a slot now; below 0 if there are too many.
function room_of(key)
  local set = settings.settings_of(key.number)
  local room = (set.kmax or math.huge) - key.taken
  return set.krate and math.min(room, rates.allowance(set.krate, key.tat) - key.called) or room
end
