-- Puts a job that left its place because of a change into the index where it belongs now. at: when it is due; was: its state before.
local function place_anew(job, at, was)
  if job.x.waits and is_waiting(job) then
    put(job, "due", at > now_floor and at or nil)
    block(job)
  elseif at > now_floor then
    put(job, "due", at)
    go(job, SCHEDULED, at)
  else
    put(job, "due", nil)
    put(job, "aside", job.stand and job.priority == 0 and "1" or nil)
    go(job, READY)
  end
  if job.state ~= was then
    log_event(job.state == READY and "ready" or job.state == SCHEDULED and "scheduled" or "blocked", job)
  end
end
