-- The cancel of a job: one that waits, or is dead, ends now; the worker of a leased one is asked to stop, and loses its lease after a grace.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/timeline, extended/moves, extended/conversion
--- @exports ended_code, cancel_job

-- The code of the command extended/cancel for a job that is not there any more to be cancelled; nil = it is.
function ended_code(job)
  if not job or job.is_gone or is_expired(job) then
    return 0
  --[[ guard: done-not-cancelled ]] elseif job.state == DONE or job.state == CANCELLED then
    return job.state == DONE and 3 or 4
  end
end

-- cascade: with all jobs that depend on it. operation: which one cancels it, nil = none. Returns the code, and when its worker loses the lease.
function cancel_job(job, cascade, grace_ms, operation)
  if job.state == LEASED and grace_ms > 0 then
    local at, timers, known = now_ceil + grace_ms, namespace_key("timers"), "G" .. job.id
    if job.x.cancel then -- A second call does not give more time.
      at = math.min(at, tonumber(redis.call("ZSCORE", timers, known)) or at)
    else -- A timer from before the job died and was put back.
      remove_member(timers, known)
    end
    conversion.make_extended(job)
    jobs.put(job, "cascade", cascade and "1" or job.x.cascade)
    jobs.put(job, "cancel", job.x.cancel or now_floor)
    set_timer(known, at)
    timeline.log_event("cancel_requested", job, { revoked_at = at, worker = job.x.worker, operation = --[[ guard: requested-cancel-is-own-work ]] operation })
    return 2, at
  end
  local was_leased = job.state == LEASED
  jobs.put(job, "cascade", job.x.users and cascade and "1" or job.x.cascade)
  moves.leave(job)
  if was_leased then
    conversion.make_extended(job, true)
    moves.revoke(job)
  else
    moves.conclude(job, CANCELLED, "cancelled")
  end
  return 1, 0
end
