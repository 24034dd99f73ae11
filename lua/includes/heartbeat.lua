-- Settle verb heartbeat: the worker extends the lease, and may report progress.
function verbs.heartbeat(job, options, bytes)
  local usual = namespace_setting("heartbeat_ms", 0)
  local was_late, ends = job.state ~= LEASED, now_ceil + (options.ttr_ms or usual > 0 and usual or own_ttr(job))
  ends = job.expires > 0 and math.min(ends, job.expires) or ends
  take_in_hand(job)
  if options.progress or options.has_data then
    make_extended(job, true)
    if options.has_data then
      bodies.replace(job, bytes)
    end
    put(job, "progress", options.progress or job.x.progress)
  end
  go(job, LEASED, ends)
  emit_event("heartbeat", job, { late = was_late or nil, worker = job.x.worker })
  return 1, ends, job.x.cancel and '{"cancel":true}' or ""
end
