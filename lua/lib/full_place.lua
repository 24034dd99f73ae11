-- Where jobs stand: leave and go plan a move, lib/full_commit makes it.
-- From where it stands. is_taken: from the head of its line, where its entry goes with all that is cut off.
local function leave(job)
  will_change(job)
  left(job)
  local kind = kind_of(job)
  if job.state == READY and job.priority ~= 0 then
    free("ZREM", queue_key("p", job.queue), job.id)
  elseif job.state == READY and not job.is_taken then
    mark("SADD", queue_key("g", job.queue), job.id .. string.char(job.entry))
  elseif kind == "s" and not redis.call("ZSCORE", queue_key("s", job.queue), job.id) then
    mark("HINCRBY", queue_key("i", job.queue), "far", -1) -- It stands in the list of a far slot, where its entry means nothing from now on.
  elseif kind then
    free("ZREM", queue_key(kind, job.queue), job.id)
  end
end

-- To the index of a state, with its score: when it is due, its lease ends, or since when it is there.
local function go(job, state, at)
  will_change(job).state = state
  job.is_entering = state == READY
  if state == READY then
    touch(queue_key("r", job.queue))
    if is_rich(job) then
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
  elseif kind ~= "d" and not is_rich(job) then
    write("ZADD", due, "LT", text_of(at), job.queue)
  end
end
