-- Scheduled jobs that are due, leases that expired, jobs that expire. Members of a zset whose time has passed: an expired job is removed, `act` handles
-- the others, and a member without its job is dropped.
local function each_due(kind, state, number, what, act)
  local key = queue_key(kind, number)
  for _, id in ipairs(due_in(key, what)) do
    local job = job_of(id)
    if not job or job.is_gone or not is_extended(job) or job.state ~= state then
      free("ZREM", key, id)
    elseif is_expired(job) then
      expire(job)
    else
      act(job)
    end
  end
end

function timer_handlers.S(number, what)
  each_due("S", SCHEDULED, number, what, function(job)
    counts.due = counts.due + 1
    leave(job)
    if job.x.waits then
      block(job)
    else
      go(job, READY)
      log_event("ready", job)
    end
  end)
end

function timer_handlers.L(number, what)
  each_due("L", LEASED, number, what, time_out)
end
