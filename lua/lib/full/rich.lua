-- Makes jobs rich and queues full: from then on the full lane alone tends them.
local filled = {}
local function fill_queue(number, name)
  if not filled[number] and not full[name] then
    filled[number] = true
    write("HSET", queues, name, -number)
  end
end

-- A plain job moves to the rich jobs' index of its state; one that is about to move anyway must have left its place before. One in the
-- list of a far slot stays there, until the pump opens it.
local function make_rich(job, has_left)
  if is_rich(job) then
    return
  end
  local kind = not has_left and PLAIN_INDEX[job.state]
  local at = kind and redis.call("ZSCORE", queue_key(kind, job.queue), job.id)
  if at then
    leave(job)
  end
  job.flags = job.flags - job.flags % 2 + HAS_EXTRAS + RICH
  if at then
    go(job, job.state, tonumber(at))
  end
  will_change(job)
  fill_queue(job.queue, name_of(job.queue))
  put(job, "tries", job.x.tries or job.tries + job.attempts)
  if job.expires > 0 and job.state ~= DEAD then
    write("ZADD", space_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
end
