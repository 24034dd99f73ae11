-- Ties a job to one that it waits for. Returns how that ended, if the job is to end with it.
local function tie(job, id)
  local on = job_of(id)
  local outcome = on and (on.state == DEAD and "died" or on.state == CANCELLED and "cancelled")
  if not on or not outcome and (on.is_gone or on.state == DONE or is_expired(on)) then
    return
  end
  local policy = outcome and policy_of(job, outcome)
  if policy == "fail" or policy == "cancel" then
    return outcome
  elseif policy == "ignore" then
    return
  end
  put(job, "waits", job.x.waits or "1")
  if outcome then
    job.failed = job.failed + 1
    edge(job, "HSET", named_key("f", job.id), id, outcome)
  else
    job.unmet = job.unmet + 1
    edge(job, "SADD", needs_key(job.id), id)
  end
  if outcome ~= "cancelled" then -- It may yet be done.
    make_rich(on)
    put(on, "users", "1")
    write("SADD", named_key(outcome and "v" or "u", id), job.id)
  end
end
