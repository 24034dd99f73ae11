-- Ends of jobs. A job has left its place before (lib/full/place) it ends.
-- What holds others up lets them go: outcome is the event that tells of the end. Dependents learn of it from the clock.
local function let_go(job, outcome)
  free_unique(job)
  tell_users(job, job.x.cascade and outcome == "cancelled" and "cascaded" or outcome)
  if job.x.waits then
    free("DEL", needs_key(job.id), named_key("f", job.id), named_key("m", job.id))
  end
  for _, field in ipairs({ "waits", "cancel", "cascade" }) do
    put(job, field, nil)
  end
  if is_rich(job) and job.expires > 0 then
    free("ZREM", space_key("expiring"), job.id)
  end
end

local function vanish(job)
  will_change(job).is_gone = true
  free("DEL", job_key(job.id), extras_key(job.id), needs_key(job.id))
  if job.flags >= COUNTED then
    mark("HINCRBY", meta, "bytes", 0 - bodies.bytes_of(job)) -- Not by a minus sign: Redis takes "-0" for no number.
  end
end

-- Done, cancelled or expired: kept for a while if it is to be, else gone.
local function conclude(job, state, outcome, facts)
  local keep_ms = state and tonumber(job.x.keep or 0) or 0
  let_go(job, outcome)
  if keep_ms > 0 then
    job.expires = 0
    put(job, "ended", now_floor)
    go(job, state, now_floor)
    tell(outcome, job, facts)
    keep(job, keep_ms)
  else
    vanish(job)
    announce(outcome, job, facts)
  end
end
