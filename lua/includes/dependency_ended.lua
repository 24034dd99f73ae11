-- A dependency of a job ended: it is met or failed. A job that was published again under its old id may not have this dependency.
local function dependency_ended(job, on, outcome)
  local was_unmet = redis.call("SISMEMBER", touch(needs_key(job.id)), on) == 1
  if not was_unmet and redis.call("HEXISTS", touch(named_key("f", job.id)), on) == 0 then
    return
  end
  waiter(job)
  local policy = outcome == "acked" and "ignore" or outcome == "revived" and outcome or policy_of(job, outcome)
  if policy == "fail" or policy == "cancel" then
    leave(job)
    return fail_dependent(job, outcome)
  end
  job.unmet, job.failed = job.unmet - (was_unmet and 1 or 0), job.failed - (was_unmet and 0 or 1)
  edge(job, was_unmet and "SREM" or "HDEL", was_unmet and needs_key(job.id) or named_key("f", job.id), on)
  if policy == "revived" then
    job.unmet = job.unmet + 1
    edge(job, "SADD", needs_key(job.id), on)
    write("SADD", users_key(on), job.id)
  elseif policy == "block" then
    job.failed = job.failed + 1
    edge(job, "HSET", named_key("f", job.id), on, outcome)
    if outcome == "died" then
      write("SADD", named_key("v", on), job.id)
    end
  end
end
