-- Lease operations with which a job goes back, or its lease is extended. Each returns code, at and facts as the command extended/settle has them.
--- @requires core/call, core/header, extended/jobs, extended/settings, extended/timeline, extended/moves, extended/conversion, leases/claims
--- @exports release, undo, heartbeat

-- The worker gives the job back, or its lease is revoked. options.is_counted: the job remembers how often.
function release(job, options)
  take_back(job)
  if options.is_counted then
    make_extended(job, true)
    put(job, "released", (tonumber(job.x.released) or 0) + 1)
  end
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  local at = options.delay_ms and options.delay_ms > 0 and now_ceil + options.delay_ms
  go(job, at and SCHEDULED or READY, at)
  log_event("released", job, { worker = job.x.worker })
  return 1, at
end

-- As if it had never been leased: the response did not reach the worker. The lease number stays, because no worker knows it.
function undo(job)
  leave(job)
  job.tries, job.attempts, job.to_front = math.min(job.tries + 1, 65535), job.attempts - 1, true
  go(job, READY)
  log_event("undone", job, { worker = job.x.worker })
  return 1
end

-- The worker extends the lease, and may report progress.
function heartbeat(job, options, bytes)
  local usual = namespace_setting("heartbeat_ms", 0)
  local was_late, ends = job.state ~= LEASED, now_ceil + (options.ttr_ms or usual > 0 and usual or own_ttr(job))
  ends = job.expires > 0 and math.min(ends, job.expires) or ends
  take_in_hand(job)
  if options.progress or options.has_data then
    make_extended(job, true)
    if options.has_data then
      replace_body(job, bytes)
    end
    put(job, "progress", options.progress or job.x.progress)
  end
  go(job, LEASED, ends)
  emit_event("heartbeat", job, { late = was_late or nil, worker = job.x.worker })
  return 1, ends, job.x.cancel and '{"cancel":true}' or ""
end
