-- Changes a job if that is allowed; returns the code of the command extended/change.
local WAITING = { [READY] = true, [SCHEDULED] = true, [BLOCKED] = true, [HELD] = true }
local function change(job, wish, bytes, more, less)
  if not job or is_expired(job) then
    return 0
  elseif wish.log then
    make_extended(job)
    log_event("log", job, wish.log)
    return 1
  elseif not WAITING[job.state] then
    return 2
  elseif wish.tries and wish.tries <= used_tries(job) then
    return 6
  end
  local refusal = why_not(job, more, wish.only)
  local at = wish.due_ms or wish.delay_ms and (wish.delay_ms > 0 and now_ceil + wish.delay_ms or 0) or due_of(job)
  if refusal then
    return refusal == "dependency_cycle" and 3 or 4
  elseif not at and (wish.queue or wish.ttl_ms and job.expires > 0) then
    return 5
  end
  job.due_at = at
  return move(job, wish, at, retie(job, wish, more, less), bytes, wish.only or #more + #less > 0)
end
