-- Ends that a job comes to by others. To the dead letter, where nothing expires.
local function die(job, group, message, worker)
  make_rich(job, true)
  let_go(job, "died")
  job.expires, job.spared = 0, 0
  put(job, "ended", now_floor)
  put(job, "fgroup", group)
  put(job, "fmessage", message)
  put(job, "fat", now_floor)
  put(job, "fworker", worker)
  go(job, DEAD, now_floor)
  tell("died", job, { group = group, message = message, worker = worker })
end

-- Cancelled while it was leased: its owner's lease is lost. It is kept for a while, so that he hears of it.
local REVOKED_KEEP_MS = 60000
function revoke(job)
  job.lease = job.lease + 1
  put(job, "keep", text_of(math.max(tonumber(job.x.keep or 0), REVOKED_KEEP_MS)))
  conclude(job, CANCELLED, "cancelled")
end
