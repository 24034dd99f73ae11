-- New jobs: new_job while the script reads, place_new when it is clear that the whole batch is stored. An id that was chosen may have been in use
-- before, and a late lease holder of the former job must be refused: leases are numbered from the clock on, in ms. Half of the 32 bits is left for later
-- leases, so that numbers start again after 25 days.
local function new_job(options, id, body, expired)
  if expired then
    leave(expired)
    conclude(expired, nil, "expired", worker_facts(expired))
  end
  local lease, time_flags = first_lease(options.minted)
  local x, expires = options.x, options.ttl_ms > 0 and now_ceil + options.ttl_ms or 0
  local job = {
    id = id, body = body, x = {}, news = {}, api = options.lmstfy and LMSTFY_API or NATIVE_API, state = READY, flags = HAS_EXTRAS + EXTENDED + time_flags + counted_flag, priority = options.priority or 0,
    tries = options.tries, attempts = 0, lease = lease, queue = number_of(options.queue), entry = 1, -- 0 is for far slots
    expires = expires, free_retries = 0,
  }
  names[job.queue], jobs[id] = options.queue, will_change(job) -- Now: jobs become ready in this order.
  for field, value in pairs(x) do
    put(job, field, value)
  end
  return job
end

local function place_new(job, options)
  local at = options.due_ms or options.delay_ms > 0 and now_ceil + options.delay_ms or 0
  put(job, "put", now_floor)
  put(job, "tries", job.tries)
  make_queue_extended(job.queue, options.queue)
  if counted_flag > 0 then
    write("HINCRBY", meta, "bytes", #job.body)
  end
  if job.expires > 0 then
    write("ZADD", namespace_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
  log_event("published", job, { queue = options.queue })
  put(job, "due", at > now_floor and at or nil)
  if not wait_for(job, options.needs or {}) then
    go(job, at > now_floor and SCHEDULED or READY, at)
  end
end
