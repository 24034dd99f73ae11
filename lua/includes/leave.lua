-- leave and go (place) plan a move from one index to another, commit writes it. leave: out of the index. is_taken: from the head of its ready list, where
-- its entry goes with all that is trimmed.
local function leave(job)
  will_change(job)
  left(job)
  local kind = kind_of(job)
  job.to_front = nil
  put(job, "front", nil)
  if job.state == READY and job.is_entering then
    return -- This script made it ready: it is in no index yet.
  elseif job.state == READY and (job.priority ~= 0 or job.x.aside) then
    free("ZREM", queue_key("p", job.queue), job.id)
    put(job, "aside", nil)
  elseif job.state == READY and not job.is_taken then
    write_early("SADD", queue_key("g", job.queue), job.id .. string.char(job.entry))
  elseif job.state == SCHEDULED and not is_planned(queue_key(kind, job.queue), job.id) and not redis.call("ZSCORE", queue_key(kind, job.queue), job.id) then
    write_early("HINCRBY", queue_key("i", job.queue), "far", -1) -- Its entry in the list of a far slot means nothing from now on.
    job.entry = 1
  elseif kind then
    free("ZREM", queue_key(kind, job.queue), job.id)
    notify_dependents(job, job.state == DEAD and "revived")
  end
end
