-- The ready list, from its head, and the lists of far slots. Entries without a job are dropped too.
function places.r()
  local list = ready_list_of(number)
  table.insert(frees, 1, function()
    trim_ready_list(list)
  end)
  local job = seen < limit and next_in_list(list)
  while job do
    seen = seen + 1
    purge(job)
    job = seen < limit and next_in_list(list)
  end
end

function places.f()
  local slot = limit > seen and redis.call("ZRANGE", touch(queue_key("f", number)), 0, 0)[1]
  if not slot then
    return
  end
  local key, room = touch(slot_key(number, slot)), limit - seen
  local entries = redis.call("LRANGE", key, 0, room - 1)
  free("LTRIM", key, #entries, -1)
  if #entries < room then
    free("ZREM", queue_key("f", number), slot)
  end
  seen = seen + math.max(#entries, 1)
  for _, entry in ipairs(entries) do
    local id = string.sub(entry, 7, -2)
    local job = job_of(id)
    local is_there = job and job.state == SCHEDULED and job.queue == number and job.entry == string.byte(entry, -1)
    if is_there and not redis.call("ZSCORE", queue_key("s", number), id) then
      purge(job)
    end
  end
end
