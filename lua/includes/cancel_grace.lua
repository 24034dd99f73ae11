-- A job whose worker was asked to stop, and did not within cancel_grace_ms.
function timer_handlers.G(id, what)
  local job = job_of(id)
  limit = limit - 1
  free("ZREM", timers, what)
  if job and not job.is_gone and job.state == LEASED and job.x.cancel then
    leave(job)
    revoke(job)
  end
end
