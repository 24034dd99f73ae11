-- A lease expired. If its response may not have left the server, it costs no try (jobs/deliveries). Else it counts as a crash, and the job goes to the
-- end of its ready list, or dies when it has no try left.
local function time_out(job)
  local is_free = job.free_retries < MAX_FREE_RETRIES and is_undelivered(sending, job.id, pack_job(job))
  leave(job)
  put(job, "leased", nil)
  if is_free then
    job.tries, job.free_retries = math.min(job.tries + 1, 65535), job.free_retries + 1
  else
    put(job, "crashes", tonumber(job.x.crashes or 0) + 1)
  end
  log_event("timed_out", job, { worker = job.x.worker })
  if job.tries == 0 and not job.x.cancel then
    counts.died = counts.died + 1
    count_expired_lease("died", name_of(job.queue))
    die(job, "lease_expired", "its last lease ran out", job.x.worker)
    return
  end
  -- A job that is being cancelled ends now: it is not tried again, and its worker does not keep it.
  counts.returned, job.is_stalled = counts.returned + 1, not job.x.cancel
  if not job.x.cancel then
    count_expired_lease("returned", name_of(job.queue))
  end
  go(job, READY)
end
