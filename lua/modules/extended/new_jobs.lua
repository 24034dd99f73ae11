-- New jobs: new_job while the script reads, place_new when it is clear that the whole batch is stored. An id that was chosen may have been in use
-- before, and a late lease holder of the former job must be refused: leases are numbered from the clock on, in ms. Half of the 32 bits is left for later
-- leases, so that numbers start again after 25 days.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/settings, extended/timeline, extended/moves
--- @requires extended/conversion, extended/dependencies, limits/quota_room, jobs/default_fields, jobs/dependency_list
--- @exports use_defaults, is_taken, new_job, place_new

-- What a native publish does not set is the queue's default, or else the value below.
local DEFAULT_TRIES = 5
function use_defaults(options)
  -- guard: republish-without-defaults
  local defaults = not options.replaces and settings.settings_of(registry.number_of(options.queue)).defaults or {}
  local x = options.x or {}
  options.ttl_ms = options.ttl_ms or defaults.ttlMs or 0
  options.tries = options.tries or defaults.tries or DEFAULT_TRIES
  options.priority = options.priority or defaults.priority
  default_fields.fill_fields(x, defaults)
  x.keep = x.keep or settings.namespace_setting("retention_ms")
  local needs = options.needs or {}
  -- guard: dependencies-stay-in-list
  x.deps = #needs > 0 and dependency_list.open_list(needs) or nil
  options.x = x
end

-- Whether a new job cannot have its id: while dependents of an earlier job with this id have not been handled, the id is in use.
function is_taken(id, present, minted)
  if present then
    return present.x.users or not is_expired(present)
  end
  -- guard: id-taken-until-notified
  return not minted and redis.call("HEXISTS", touch(namespace_key("ended")), id) == 1
end

-- expired: the job that had its id.
function new_job(options, id, body, expired)
  if expired then
    moves.leave(expired)
    moves.conclude(expired, nil, "expired", timeline.worker_facts(expired))
  end
  local lease, time_flags = first_lease(options.minted)
  local x, expires = options.x, options.ttl_ms > 0 and now_ceil + options.ttl_ms or 0
  local job = {
    id = id, key = job_key(id), extras_key = extras_key(id), body = body, x = {}, news = {}, api = options.replaces and LMSTFY_API or NATIVE_API, state = READY, flags = HAS_EXTRAS + EXTENDED + time_flags + quota_room.counted_flag, priority = options.priority or 0,
    tries = options.tries, attempts = 0, lease = lease, queue = registry.number_of(options.queue), entry = --[[ guard: entry-zero-for-far-slots ]] 1, -- 0 is for far slots
    expires = expires, free_retries = 0,
  }
  registry.queue_names[job.queue], jobs.known_jobs[id] = options.queue, --[[ guard: call-keeps-order ]] jobs.will_change(job) -- Now: jobs become ready in this order.
  for field, value in pairs(x) do
    jobs.put(job, field, value)
  end
  return job
end

function place_new(job, options)
  local at = options.due_ms or options.delay_ms > 0 and now_ceil + options.delay_ms or 0
  jobs.put(job, "put", now_floor)
  jobs.put(job, "tries", job.tries)
  conversion.make_queue_extended(job.queue, options.queue)
  if quota_room.counted_flag > 0 then
    write("HINCRBY", meta_key, "bytes", #job.body)
  end
  if job.expires > 0 then
    add_member(namespace_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
  if at > now_floor or job.replaces then
    local delay = options.delay_ms > 0 and options.delay_ms or at - now_floor
    job.event_facts = { delay_ms = --[[ guard: published-event-tells-delay ]] delay > 0 and delay or nil, replaces = job.replaces }
  end
  timeline.log_event("published", job, { queue = options.queue })
  job.event_facts = nil
  jobs.put(job, "due", at > now_floor and at or nil)
  local needs = --[[ guard: recurring-jobs-have-dependencies ]] options.needs or {}
  if #needs == 0 or not dependencies.wait_for(job, needs) then
    moves.go(job, at > now_floor and SCHEDULED or READY, at)
  end
end
