-- A job that waits for no other any more: to its line, or until it is due.
local function set_free(job)
  local at = tonumber(job.x.due or 0)
  if at > now_floor then
    go(job, SCHEDULED, at)
    tell("scheduled", job, { due = at })
  else
    go(job, READY)
    tell("ready", job)
  end
end
