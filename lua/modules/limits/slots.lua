-- How many jobs of a queue and of a concurrency key run. left, keep_slot and runs see every move.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/settings, limits/rates, limits/concurrency_keys
--- @exports has_slot, freed_keys, running_in, left, keep_slot, runs

-- Whether the limits of its key let a ready job run. Those that are ready with a slot are behind it in the list.
function has_slot(job)
  local set = settings.settings_of(job.queue)
  local key = job.x.ckey and concurrency_keys.has_limits(job.queue) and concurrency_keys.concurrency_key_of(job)
  return not key or not concurrency_keys.is_paused(key) and --[[ guard: key-limit-at-lease ]] key.taken - key.called < (set.kmax or math.huge) and (not set.krate or rates.allowance(set.krate, key.tat) >= 1)
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
  if job.state == LEASED then
    moved[job.queue] = (moved[job.queue] or 0) - 1
    if settings.settings_of(job.queue).max then
      -- guard: free-slot-wakes
      settings.wake(job.queue)
    end
  elseif job.state == HELD then
    local key = concurrency_keys.holding_key_of(job)
    key.held = key.held - 1
    remove_member(key.held_key, job.id)
    jobs.put(job, "hold", nil)
  end
  if job.x.slot then
    local key = concurrency_keys.free_slot(job)
    freed_keys[key.name] = --[[ guard: freed-slot-calls-the-next ]] key
    job.slot_of = settings.settings_of(job.queue).strict and key
  elseif job.slot_of then
    job.slot_of = nil
  end
end

-- The slot that a job keeps in a strict order, by its state; nil = it frees it.
local function kept_slot(job, state)
  if state == READY then
    return concurrency_keys.READY_SLOT
  elseif state == DEAD then
    return --[[ guard: dead-job-blocks-its-key ]] settings.settings_of(job.queue).block and concurrency_keys.DEAD_SLOT
  end
  return (state == SCHEDULED or state == BLOCKED or state == HELD and job.x.hold) and concurrency_keys.WAIT_SLOT
end

-- After a job has left its place, when its next one is known.
function keep_slot(job, state)
  local slot = not job.x.slot and kept_slot(job, state)
  if slot and job.x.ckey and --[[ guard: moved-job-frees-its-key ]] concurrency_keys.concurrency_key_of(job) == job.slot_of then
    concurrency_keys.take_slot(job, slot)
    -- All jobs of its key wait for it.
    job.to_front = job.to_front or --[[ guard: kept-slot-goes-to-the-front ]] state == READY
  end
end

-- When it is leased.
function runs(job)
  moved[job.queue] = (moved[job.queue] or 0) + 1
  if job.x.ckey then
    concurrency_keys.take_slot(job, concurrency_keys.RUN_SLOT)
    jobs.put(job, "place", nil)
  end
end
