-- Settle verbs with which a job goes back.
local verbs = {}
-- The lease holder loses the lease, although no worker has a new one yet.
local function take_back(job)
  take_in_hand(job)
  job.lease = job.lease + 1
  if is_extended(job) then
    put(job, "leased", nil)
  end
end

function verbs.release(job, options)
  take_back(job)
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  local at = options.delay_ms and options.delay_ms > 0 and now_ceil + options.delay_ms
  go(job, at and SCHEDULED or READY, at)
  log_event("released", job, { worker = job.x.worker })
  return 1, at
end

-- A revoked lease ends as one that its holder gives back.
verbs.revoke = verbs.release

-- As if it had never been leased: the response did not reach the worker. The lease number stays, because no worker knows it.
function verbs.undo(job)
  leave(job)
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  go(job, READY)
  log_event("undone", job, { worker = job.x.worker })
  return 1
end
