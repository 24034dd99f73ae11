-- A lease expired (ADR 32). If its response may not have left the server, it costs no try (jobs/deliveries). Else it counts as a crash; what becomes of
-- the job is decided by its tries, its retry policy, and the settings of its queue.

-- When the job is to be tried again, ms from now; nil = not at all. A job of lmstfy's API without a policy goes back at once, and has no failure.
local function delay_after_crash(job, message)
  local grace_ms = tonumber(job.x.grace) or settings_of(job.queue).grace or 0
  if job.x.retry or job.api == NATIVE_API then
    put(job, "fgroup", "lease_expired")
    put(job, "fmessage", message)
    put(job, "fat", now_floor)
    put(job, "fworker", job.x.worker)
    local delay = delay_of(job, "lease_expired")
    return delay and math.max(delay, grace_ms)
  end
  return grace_ms
end

local function time_out(job)
  local is_free = job.free_retries < MAX_FREE_RETRIES and is_undelivered(sending, job.id, pack_job(job))
  local message, delay = "its lease ran out", 0
  leave(job)
  put(job, "leased", nil)
  if is_free then
    job.tries, job.free_retries = math.min(job.tries + 1, 65535), job.free_retries + 1
  else
    put(job, "crashes", tonumber(job.x.crashes or 0) + 1)
  end
  log_event("timed_out", job, { worker = job.x.worker })
  if not is_free and not job.x.cancel then
    delay = job.tries > 0 and delay_after_crash(job, message)
  end
  if not delay then
    counts.died = counts.died + 1
    count_expired_lease("died", name_of(job.queue))
    die(job, "lease_expired", job.tries > 0 and message or "its last lease ran out", job.x.worker)
    return
  end
  -- A job that is being cancelled ends now: it is not tried again, and its worker does not keep it.
  counts.returned, job.is_stalled = counts.returned + 1, not job.x.cancel
  if not job.x.cancel then
    count_expired_lease("returned", name_of(job.queue))
  end
  job.to_front = settings_of(job.queue).front ~= nil
  if delay > 0 then
    put(job, "front", job.to_front and "1" or nil)
    go(job, SCHEDULED, now_ceil + delay)
  else
    go(job, READY)
  end
end
