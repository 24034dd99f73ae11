-- Applies a change to a job, when all checks have passed. at: when it is due, nil = not known.
local function may_stay(job, wish, at, number, waits)
  if job.state == READY then
    return not waits and number == job.queue and (not (wish.due_ms or wish.delay_ms) or at <= now_floor)
  end
  return job.state ~= BLOCKED and number == job.queue and not wish.due_ms and not wish.delay_ms and (not waits or not at)
end

local function move(job, wish, at, outcome, bytes, ties)
  local was, number, priority = job.state, wish.queue and number_of(wish.queue) or job.queue, wish.priority or job.priority
  local waits = job.x.waits and is_waiting(job)
  local stays = not outcome and may_stay(job, wish, at, number, waits)
  if stays and was == READY and priority ~= job.priority then
    stays, job.stand = false, rank_of(job, priority)
  end
  local slot, changes = job.stand and job.x.slot, changes_of(job, wish, number, priority, ties)
  if not stays then
    leave(job)
  end
  alter(job, wish, bytes)
  make_extended(job, not stays)
  if outcome then
    fail_dependent(job, outcome)
    return 1
  elseif job.x.waits and not waits then
    forget_needs(job)
  end
  keep_order(job, priority, stays, slot)
  job.queue, job.priority = number, priority
  if wish.queue then
    names[number] = wish.queue
    make_queue_extended(number, wish.queue)
  end
  log_event("changed", job, changes)
  if not stays then
    place_anew(job, at, was)
  end
  return 1
end
