-- What the limits of its concurrency key do with a job that becomes ready: it gets a slot, or is held. So the ready lists have few jobs of a key, and those of
-- a full key delay no others. Jobs that were ready before their queue had limits are held when a lease finds them (limits/at_lease).
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, limits/concurrency_keys, limits/slots
--- @exports held_place, takes_slot, join_held

local parked = {}
local function next_number(number)
  local facts = queue_key("i", number)
  if not parked[number] then
    parked[number] = tonumber(redis.call("HGET", touch(facts), "parked") or 0)
    plan.lasts[#plan.lasts + 1] = function()
      redis.call("HSET", facts, "parked", text_of(parked[number]))
    end
  end
  parked[number] = parked[number] + 1
  return parked[number]
end

-- A quarter of PLACES: how far before the others of their priority the places of jobs are that come before all of them.
local FIRST_STEPS = 2 ^ 43
-- The place of a job among the held jobs of its key: by priority, then in the order in which they were held. is_first: it was ready before those that are
-- held, or its lease was undone, and comes before them. A job that was held before keeps its place. In a strict order the priority does not count.
function held_place(job, is_first)
  local priority = settings.settings_of(job.queue).strict and --[[ guard: strict-order-ignores-priorities ]] 0 or job.priority
  return job.x.place or text_of(priority * PLACES + next_number(job.queue) - (--[[ guard: ready-job-is-held-first ]] is_first and FIRST_STEPS or 0))
end

-- Whether a job that becomes ready may enter its ready list: then it has a slot, if its queue has limits for keys. While a pass over the held jobs is under
-- way after a limit was removed, some of its key may still be held.
function takes_slot(job)
  local set = settings.settings_of(job.queue)
  if job.x.slot or not (concurrency_keys.has_limits(job.queue) or set.seen) then
    return true
  end
  local key = concurrency_keys.concurrency_key_of(job)
  if --[[ guard: held-not-overtaken ]] key.held > 0 or --[[ guard: held-when-ready ]] concurrency_keys.room_of(key) < 1 then
    return false
  end
  concurrency_keys.take_slot(job, concurrency_keys.READY_SLOT)
  return true
end

-- Adds a job to the held ones of its key. It has left its place, and goes to the index of held jobs next.
function join_held(job, is_first)
  local key = concurrency_keys.concurrency_key_of(job)
  slots.freed_keys[key.name] = key
  jobs.put(job, "place", held_place(job, is_first))
  -- It has no place among ready jobs any more.
  jobs.put(job, "aside", nil)
  job.stand, job.tells_held = nil, true
  key.held, key.newly[#key.newly + 1] = key.held + 1, job
  add_member(key.held_key, job.x.place, job.id)
end
