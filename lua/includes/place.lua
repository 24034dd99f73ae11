-- To the index of a state, with its score: when it is due, when its lease ends, or since when it is there.
local function go(job, state, at)
  if job.x.cancel and (state == READY or state == SCHEDULED) then
    return revoke(job)
  end
  if state == SCHEDULED and job.expires > 0 and not is_extended(job) then -- No other timer handles a simple job that expires sooner.
    at = math.min(at, job.expires)
  end
  will_change(job).state, job.at, job.is_entering = state, at, state == READY
  if state == READY then
    touch(queue_key("r", job.queue))
    if is_extended(job) then
      put(job, "since", now_floor)
    end
    return
  end
  if state == LEASED then
    runs(job)
  end
  local kind = kind_of(job)
  write("ZADD", queue_key(kind, job.queue), text_of(at), job.id)
  if kind == "S" or kind == "L" then
    set_timer(kind .. job.queue, at)
  elseif kind ~= "d" and not is_extended(job) then
    write("ZADD", due, "LT", text_of(at), job.queue)
  end
end
