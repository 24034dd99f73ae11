-- A job with more dependencies than one script handles.
function timer_handlers.N(id, what)
  local job = job_of(id)
  if job and not job.is_gone and job.x.waits == TYING then
    ties_left = math.huge
    local outcome = tie_all(job, some_of(named_key("m", id)))
    if outcome then
      leave(job)
      fail_dependent(job, outcome)
    elseif limit > 0 then
      put(job, "waits", "1")
    end
  end
  finish(what, limit > 0)
end

-- Jobs without open dependencies continue; the others go to the place that shows whether a dependency has failed.
function place_waiters()
  for _, job in ipairs(waiters) do
    if not job.is_gone and job.x.waits and not is_waiting(job) then
      forget_needs(job)
      if job.state == BLOCKED then
        leave(job)
        set_free(job)
      end
    elseif not job.is_gone and job.state == BLOCKED then
      block(job)
    end
  end
end
