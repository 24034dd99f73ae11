-- Makes jobs and queues extended: from then on only scripts of the extended path change them.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/indexes, extended/moves
--- @exports make_queue_extended, total_tries, make_extended, make_room_for_lease

local extended_by_now = {}
function make_queue_extended(number, name)
  if not extended_by_now[number] and not registry.is_extended_queue[name] then
    extended_by_now[number] = true
    write("HSET", queues_key, name, -number)
  end
end

-- How often a job may be leased in all; a simple one does not store it.
function total_tries(job)
  return tonumber(job.x.tries or --[[ guard: converted-job-keeps-its-tries ]] job.tries + job.attempts - job.free_retries)
end

-- A simple job moves to the index of extended jobs of its state; one that is about to move must have left its place before. One in the list of a far slot
-- stays there, until the pump opens the slot.
function make_extended(job, has_left)
  if is_extended(job) then
    return
  end
  local kind = not has_left and indexes.SIMPLE_INDEX[job.state]
  local key = kind and queue_key(kind, job.queue)
  -- This script may have planned another place for it.
  local at = kind and (--[[ guard: planned-place-counts ]] is_planned(key, job.id) and job.at or redis.call("ZSCORE", key, job.id))
  -- guard: far-job-stays-far-when-tagged
  if at then
    moves.leave(job)
  end
  job.flags = job.flags - job.flags % 2 + HAS_EXTRAS + EXTENDED
  if at then
    moves.go(job, job.state, tonumber(at))
  end
  jobs.will_change(job)
  make_queue_extended(job.queue, registry.name_of(job.queue))
  jobs.put(job, "put", job.x.put or --[[ guard: conversion-keeps-publish-time ]] publish_time_of_lease(job))
  jobs.put(job, "tries", total_tries(job))
  -- guard: conversion-keeps-failure
  if at and job.state == DEAD then -- A simple job has one cause of death.
    jobs.set_failure(job, "lease_expired", "its last lease ran out", nil)
    jobs.put(job, "fat", at)
    jobs.put(job, "ended", at)
  end
  -- guard: conversion-registers-ttl
  if job.expires > 0 and job.state ~= DEAD then
    add_member(namespace_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
end

-- Makes a job extended whose next lease number cannot hold its publish time (core/header).
function make_room_for_lease(job, has_left)
  local _, is_for_extended = next_lease(job)
  if is_for_extended then
    make_extended(job, has_left)
  end
end
