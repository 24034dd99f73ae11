-- Makes a job depend on another. Returns how that one ended, if the job ends with it.
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
    -- A failed dependency on an earlier job with this id does not count any more.
    if redis.call("HEXISTS", touch(named_key("f", job.id)), id) == 1 then
      job.failed = job.failed - 1
      edge(job, "HDEL", named_key("f", job.id), id)
    end
    job.unmet = job.unmet + 1
    edge(job, "SADD", needs_key(job.id), id)
  end
  if outcome ~= "cancelled" then -- It may still be done.
    make_extended(on)
    put(on, "users", "1")
    write("SADD", named_key(outcome and "v" or "u", id), job.id)
  end
end
