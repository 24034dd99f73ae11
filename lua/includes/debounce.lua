-- Waiting jobs that start to wait again, with other data. If several publishes of one script debounce a job, the last one counts.
local debounced = {}
-- A job that is about to enter its ready list is in no index.
local function take_out(job)
  if not job.is_entering and not debounced[job] then
    leave(job)
  end
end

local function debounce(job, options, body)
  if job.state ~= BLOCKED then
    take_out(job)
    put(job, "place", nil)
  end
  debounced[job] = { options = options, body = body }
end

local function place_debounced()
  for job, with in pairs(debounced) do
    local options = with.options
    local at = options.due_ms or options.delay_ms > 0 and now_ceil + options.delay_ms or 0
    at = at > now_floor and at or nil
    if not job.is_gone then
      bodies.replace_typed(job, with.body, options.x.ctype, true)
      put(job, "due", at)
      if job.state ~= BLOCKED then
        go(job, at and SCHEDULED or READY, at)
      end
      log_event("debounced", job, { due = at })
    end
  end
end
