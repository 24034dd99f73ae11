-- How many jobs of a queue and of a concurrency key run. left and runs see every move.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, limits/rates, limits/concurrency_keys
--- @exports has_slot, freed_keys, running_in, left, runs

-- Whether the limits of its key let a ready job run. Those that are ready with a slot are behind it in the list.
function has_slot(job)
  local set = settings.settings_of(job.queue)
  local key = job.x.ckey and (set.kmax or set.krate) and concurrency_keys.concurrency_key_of(job)
  return not key or --[[ guard: key-limit-at-lease ]] key.taken - key.called < (set.kmax or math.huge) and (not set.krate or rates.allowance(set.krate, key.tat) >= 1)
end

-- Keys by their names: a job left its slot, or limits allow more. commit makes jobs that they hold ready.
freed_keys = {}

-- How many jobs of a queue run: simple and extended ones together. What this script has planned counts as done.
local there = {}
local moved = {}
function running_in(number)
  there[number] = there[number] or --[[ guard: simple-jobs-take-slots ]] redis.call("ZCARD", queue_key("l", number)) + redis.call("ZCARD", queue_key("L", number))
  return there[number] + (moved[number] or 0)
end

-- Before a job leaves its place.
function left(job)
  local key = job.state == HELD and concurrency_keys.holding_key_of(job) or job.x.slot and concurrency_keys.concurrency_key_of(job)
  if job.state == LEASED then
    moved[job.queue] = (moved[job.queue] or 0) - 1
    if settings.settings_of(job.queue).max then
      -- guard: free-slot-wakes
      settings.wake(job.queue)
    end
  elseif job.state == HELD then
    key.held = key.held - 1
    remove_member(key.held_key, job.id)
    jobs.put(job, "hold", nil)
  end
  if job.x.slot then
    key.taken, key.called, freed_keys[key.name] = key.taken - 1, key.called - job.x.slot, --[[ guard: freed-slot-calls-the-next ]] key
    -- guard: ended-job-frees-its-slot
    remove_member(key.slots, job.id)
    jobs.put(job, "slot", nil)
  end
end

-- When it is leased.
function runs(job)
  moved[job.queue] = (moved[job.queue] or 0) + 1
  if job.x.ckey then
    concurrency_keys.take_slot(job, 0)
    jobs.put(job, "place", nil)
  end
end
