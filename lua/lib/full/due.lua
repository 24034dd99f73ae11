-- Scheduled jobs whose time has come, leases that ran out, jobs that expire.
-- Whether a member of a zset is a job that stands there still.
local function stands(id, state, key)
  local job = job_of(id)
  if job and not job.is_gone and is_rich(job) and job.state == state then
    return job
  end
  free("ZREM", key, id)
end

function bells.S(number, what)
  local key = queue_key("S", number)
  for _, id in ipairs(due_in(key, what)) do
    local job = stands(id, SCHEDULED, key)
    if job and is_expired(job) then
      expire(job)
    elseif job then
      counts.due = counts.due + 1
      leave(job)
      if job.x.waits then
        block(job)
      else
        go(job, READY)
        tell("ready", job)
      end
    end
  end
end

function bells.L(number, what)
  local key = queue_key("L", number)
  for _, id in ipairs(due_in(key, what)) do
    local job = stands(id, LEASED, key)
    if job and is_expired(job) then
      expire(job)
    elseif job then
      time_out(job)
    end
  end
end
