-- Lease operations with which a job goes back, or its lease is extended. Each returns code, at and facts as the command extended/settle has them.
--- @requires core/call, core/header, queues/registry, queues/fair_keys, queues/fair_lists, queues/fair_turns, extended/jobs, extended/settings, extended/timeline, extended/moves, extended/conversion, leases/claims, leases/run_limit, limits/at_lease, limits/byte_room
--- @exports release, undo, heartbeat

-- A worker without a handler for the job gives it back. The server counts this, in a row: workers of other types would else take the job in turns. The
-- delay doubles; the job keeps its place at first, and later waits behind the others, which it must not hold up. Returns the delay.
local FIRST_DELAY_MS, MAX_DELAY_MS, TIMES_IN_PLACE = 1000, 60000, 3
local function count_unhandled(job, worker)
  conversion.make_extended(job, true)
  local count = (job.x.no_handler and cjson.decode(job.x.no_handler).count or 0) + 1
  jobs.put(job, "no_handler", cjson.encode({ count = count, worker = worker, at = now_floor }))
  job.to_front = --[[ guard: unhandled-keeps-place ]] count <= TIMES_IN_PLACE
  jobs.put(job, "front", job.to_front and "1" or nil)
  return math.min(FIRST_DELAY_MS * 2 ^ (count - 1), MAX_DELAY_MS)
end

-- The worker gives the job back, or its lease is revoked. options.is_counted: the job remembers how often. options.reason: no_handler, revoked, or nil.
function release(job, options)
  local worker, delay, lease = job.x.worker or options.worker, options.delay_ms or 0, job.lease
  claims.take_back(job)
  -- Its former holder learns why it lost the lease.
  if options.reason == "revoked" then
    conversion.make_extended(job, true)
    jobs.put(job, "revoked", text_of(lease))
  end
  if options.is_counted then
    conversion.make_extended(job, true)
    jobs.put(job, "released", (tonumber(job.x.released) or 0) + 1)
  end
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  if options.reason == "no_handler" then
    local usual = count_unhandled(job, worker)
    delay = options.delay_ms or usual
  else
    claims.handler_began(job)
  end
  local at = delay > 0 and now_ceil + delay
  moves.return_job(job, at, "released", { worker = worker, reason = options.reason, due = options.reason == "no_handler" and at or nil })
  return 1, at, cjson.encode({ queue = registry.name_of(job.queue), tries = job.tries })
end

-- As if it had never been leased: the response did not reach the worker. The lease number stays, because no worker knows it. options.leased_ms: when it
-- was leased, nil = not known.
function undo(job, options)
  moves.leave(job)
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  -- guard: undone-job-is-held-first
  job.is_first = true
  -- guard: undone-lease-refunds-the-rate
  at_lease.refund(job, options.leased_ms)
  -- Without a history the event is that of the simple path.
  moves.return_job(job, nil, is_extended(job) and "undone" or "released", { worker = job.x.worker })
  if --[[ guard: undone-lease-is-paid-back ]] registry.fairness_of(job.queue) then
    fair_lists.pay_back(job, fair_turns.cost_of(job.queue, fair_keys.fair_key_of(job)))
  end
  return 1
end

-- The worker extends the lease, and may report progress. Beyond the quota on bytes, or in a full Redis, it keeps the lease, and the
-- progress that it reported before.
local function progress_of(job, options)
  local present = job.x.progress
  if options.progress and --[[ guard: progress-within-quota ]] byte_room.has_room_for_field(job, "progress", options.progress, options.most_bytes) then
    return options.progress
  end
  return present
end

function heartbeat(job, options, bytes)
  local usual = --[[ guard: own-ttr-beats-heartbeat-ms ]] options.own_ttr and 0 or settings.namespace_setting("heartbeat_ms", 0)
  local was_late, ends = job.state ~= LEASED, now_ceil + (options.ttr_ms or usual > 0 and usual or settings.own_ttr(job))
  -- guard: heartbeat-within-ttl
  ends = job.expires > 0 and math.min(ends, job.expires) or ends
  claims.take_in_hand(job)
  if options.begin then
    if options.max_run_ms then
      conversion.make_extended(job, true)
    end
    -- guard: begin-restarts-the-run
    run_limit.begin_run(job, options.max_run_ms)
    claims.handler_began(job)
  end
  -- guard: heartbeat-within-max-run
  ends = run_limit.within_run(job, ends)
  if options.progress or options.has_data then
    conversion.make_extended(job, true)
    if options.has_data then
      -- guard: heartbeat-data-count-for-the-quota
      jobs.replace_body(job, bytes)
    end
    jobs.put(job, "progress", progress_of(job, options))
    claims.handler_began(job)
  end
  moves.go(job, --[[ guard: accepted-late-holder-has-a-lease ]] LEASED, ends)
  timeline.emit_event("heartbeat", job, { late = was_late or nil, worker = job.x.worker })
  return 1, ends, job.x.cancel and '{"cancel":true}' or ""
end
