-- Where jobs stand: leave and go (lib/full/place) plan a move, lib/full/commit makes it.
-- From where it stands. is_taken: from the head of its line, where its entry goes with all that is cut off.
local function leave(job)
  will_change(job)
  left(job)
  local kind = kind_of(job)
  if job.state == READY and (job.priority ~= 0 or job.x.aside) then
    free("ZREM", queue_key("p", job.queue), job.id)
    put(job, "aside", nil)
  elseif job.state == READY and not job.is_taken then
    mark("SADD", queue_key("g", job.queue), job.id .. string.char(job.entry))
  elseif job.state == SCHEDULED and not redis.call("ZSCORE", queue_key(kind, job.queue), job.id) then
    mark("HINCRBY", queue_key("i", job.queue), "far", -1) -- It stands in the list of a far slot, where its entry means nothing from now on.
    job.entry = 1
  elseif kind then
    free("ZREM", queue_key(kind, job.queue), job.id)
    tell_users(job, job.state == DEAD and "revived")
  end
end
