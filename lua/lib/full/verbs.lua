-- Words of owners with which a job goes back: the verbs of full_settle.
local verbs = {}
-- Whoever had it is an owner no more, even though nobody else is one yet.
local function take_back(job)
  leave(job)
  job.lease = job.lease + 1
  if is_rich(job) then
    put(job, "leased", nil)
  end
end

function verbs.release(job, options)
  take_back(job)
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  local at = options.delay_ms and options.delay_ms > 0 and now_ceil + options.delay_ms
  go(job, at and SCHEDULED or READY, at)
  tell("released", job)
  return 1, at
end

-- As if it had never been leased: its answer reached nobody. The lease number stays, for nobody knows it.
function verbs.undo(job)
  leave(job)
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  go(job, READY)
  tell("undone", job)
  return 1
end
