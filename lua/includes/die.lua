-- A job dies: it goes to the dead-letter queue, where nothing expires.
local function die(job, group, message, worker)
  make_extended(job, true)
  release_holds(job, "died")
  job.expires, job.free_retries = 0, 0
  put(job, "ended", now_floor)
  put(job, "fgroup", group)
  put(job, "fmessage", message)
  put(job, "fat", now_floor)
  put(job, "fworker", worker)
  go(job, DEAD, now_floor)
  log_event("died", job, { group = group, message = message, worker = worker })
end

-- Cancels a leased job: the lease is lost. The job is kept for a while, so that its worker learns of it.
local REVOKED_KEEP_MS = 60000
function revoke(job)
  job.lease = job.lease + 1
  put(job, "keep", text_of(math.max(tonumber(job.x.keep or 0), REVOKED_KEEP_MS)))
  conclude(job, CANCELLED, "cancelled", { worker = job.x.worker })
end
