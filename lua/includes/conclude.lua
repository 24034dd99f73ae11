-- Ends of jobs. Before, leave has taken the job out of its index. release_holds frees what others wait for; outcome is the event of the end.
-- Dependents are handled by a timer.
local function release_holds(job, outcome)
  free_unique(job)
  notify_dependents(job, job.x.cascade and outcome == "cancelled" and "cascaded" or outcome)
  if job.x.waits then
    free("DEL", needs_key(job.id), named_key("f", job.id), named_key("m", job.id))
  end
  for _, field in ipairs({ "waits", "cancel", "cascade" }) do
    put(job, field, nil)
  end
  if is_extended(job) and job.expires > 0 then
    free("ZREM", namespace_key("expiring"), job.id)
  end
end

local function vanish(job)
  will_change(job).is_gone = true
  free("DEL", job_key(job.id), extras_key(job.id), needs_key(job.id))
  if job.flags >= COUNTED then
    write_early("HINCRBY", meta, "bytes", 0 - bodies.bytes_of(job)) -- Not by a minus sign: Redis rejects "-0".
  end
end

-- A job that is kept after its end. Its dependents were handled when it ended.
local function vanish_kept(job)
  free("ZREM", namespace_key("keeping"), job.id)
  vanish(job)
end

-- Done, cancelled or expired: kept for its retention, or removed.
local function conclude(job, state, outcome, facts)
  local keep_ms = state and tonumber(job.x.keep or 0) or 0
  release_holds(job, outcome)
  if keep_ms > 0 then
    job.expires = 0
    put(job, "ended", now_floor)
    go(job, state, state == CANCELLED and -now_floor or now_floor) -- Below zero: both kinds are counted apart, by score.
    log_event(outcome, job, facts)
    keep(job, keep_ms)
  else
    vanish(job)
    emit_event(outcome, job, facts)
  end
end
