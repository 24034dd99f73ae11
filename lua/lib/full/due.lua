-- Scheduled jobs whose time has come, leases that ran out, jobs that expire.
-- What stands in a zset past its time: what has expired goes, to all others act is done. What stands there no more is dropped.
local function each_due(kind, state, number, what, act)
  local key = queue_key(kind, number)
  for _, id in ipairs(due_in(key, what)) do
    local job = job_of(id)
    if not job or job.is_gone or not is_rich(job) or job.state ~= state then
      free("ZREM", key, id)
    elseif is_expired(job) then
      expire(job)
    else
      act(job)
    end
  end
end

function bells.S(number, what)
  each_due("S", SCHEDULED, number, what, function(job)
    counts.due = counts.due + 1
    leave(job)
    if job.x.waits then
      block(job)
    else
      go(job, READY)
      tell("ready", job)
    end
  end)
end

function bells.L(number, what)
  each_due("L", LEASED, number, what, time_out)
end
