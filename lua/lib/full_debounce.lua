-- A job that waits, waits anew: from now on, with other data.
local function debounce(job, options, body)
  local at = options.due_ms or options.delay_ms > 0 and now_ceil + options.delay_ms or 0
  local is_due, stays = at <= now_floor, job.state == BLOCKED
  if job.flags >= COUNTED then
    mark("HINCRBY", meta, "bytes", #body + HEADER_BYTES - redis.call("STRLEN", job_key(job.id)))
  end
  will_change(job).body = body
  put(job, "ctype", options.x.ctype)
  put(job, "due", not is_due and text_of(at) or nil)
  if not stays then
    leave(job)
    go(job, is_due and READY or SCHEDULED, not is_due and at or nil)
  end
  tell("debounced", job, { due = not is_due and at or nil })
end
