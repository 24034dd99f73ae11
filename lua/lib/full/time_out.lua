-- A lease that ran out. Nobody is charged for one whose answer may never have left (lib/unheard). Else it counts as a crash, and the job
-- goes to the end of its line, or dies when it has no try left.
local function time_out(job)
  local is_free = job.spared < MOST_SPARED and is_unheard(job.id, pack_job(job))
  leave(job)
  put(job, "leased", nil)
  if is_free then
    job.tries, job.spared = math.min(job.tries + 1, 65535), job.spared + 1
  else
    put(job, "crashes", tonumber(job.x.crashes or 0) + 1)
  end
  tell("timed_out", job, { worker = job.x.worker })
  if job.tries == 0 and not job.x.cancel then
    counts.died = counts.died + 1
    count_lapse("died", name_of(job.queue))
    die(job, "lease_expired", "its last lease ran out", job.x.worker)
    return
  end
  counts.returned, job.is_stalled = counts.returned + 1, true
  count_lapse("returned", name_of(job.queue))
  go(job, READY)
end
