-- Its owner is still at it: the lease begins anew, and with it the notes that he makes.
function verbs.beat(job, options, bytes)
  local usual = chosen("heartbeat_ms", 0)
  local is_late, ends = job.state == READY, now_ceil + (options.ttr_ms or usual > 0 and usual or own_ttr(job))
  ends = job.expires > 0 and math.min(ends, job.expires) or ends
  leave(job)
  if options.progress or options.has_data then
    make_rich(job, true)
    if options.has_data then
      bodies.replace(job, bytes)
    end
    put(job, "progress", options.progress or job.x.progress)
  end
  go(job, LEASED, ends)
  announce("heartbeat", job, { late = is_late or nil })
  return 1, ends, job.x.cancel and '{"cancel":true}' or ""
end
