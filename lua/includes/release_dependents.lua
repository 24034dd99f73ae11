-- Dependents of a job that ended: those that wait, and those that know that it was dead.
local KINDS = { died = "u", revived = "v" }
function timer_handlers.U(id, what)
  local outcome = redis.call("HGET", touch(namespace_key("ended")), id)
  for kind in string.gmatch(KINDS[outcome] or "uv", ".") do
    for _, user in ipairs(limit > 0 and some_of(named_key(kind, id)) or {}) do
      local job = job_of(user)
      if job and not job.is_gone and job.x.waits then
        dependency_ended(job, id, outcome)
      end
    end
  end
  finish(what, limit > 0)
  if limit > 0 then
    free("HDEL", namespace_key("ended"), id)
  end
end
