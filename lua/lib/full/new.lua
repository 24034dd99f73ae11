-- Jobs that are made: new_job while reading, place_new when it is clear that all of the batch will be.
-- An id that was chosen may have been another job's before, whose late owner must not pass for the new one's: its leases are numbered from the
-- clock on, in ms. Half of the 32 bits is left for leases to come, so that numbers begin anew after 25 days.
local function new_job(options, id, body, expired)
  if expired then
    leave(expired)
    conclude(expired, nil, "expired")
  end
  local x, expires = options.x, options.ttl_ms > 0 and now_ceil + options.ttl_ms or 0
  local job = {
    id = id, body = body, x = {}, news = {}, state = READY, flags = HAS_EXTRAS + RICH + count_flag, priority = options.priority or 0,
    tries = options.tries, attempts = 0, lease = options.minted and 0 or now_floor % 2147483648, queue = number_of(options.queue), entry = 0,
    expires = expires, spared = 0,
  }
  names[job.queue], jobs[id] = options.queue, job
  for field, value in pairs(x) do
    put(job, field, value)
  end
  return job
end

local function place_new(job, options)
  local at = options.due_ms or options.delay_ms > 0 and now_ceil + options.delay_ms or 0
  put(job, "put", now_floor)
  put(job, "tries", job.tries)
  fill_queue(job.queue, options.queue)
  if count_flag > 0 then
    write("HINCRBY", meta, "bytes", #job.body)
  end
  if job.expires > 0 then
    write("ZADD", space_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
  tell("published", job, { queue = options.queue })
  put(job, "due", at > now_floor and at or nil)
  if not wait_for(job, options.needs or {}) then
    go(job, at > now_floor and SCHEDULED or READY, at)
  end
end
