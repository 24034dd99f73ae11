-- A job without open dependencies: to its ready list, or scheduled.
local function set_free(job)
  local at = tonumber(job.x.due or 0)
  if at > now_floor then
    go(job, SCHEDULED, at)
    log_event("scheduled", job, { due = at })
  else
    go(job, READY)
    log_event("ready", job)
  end
end
