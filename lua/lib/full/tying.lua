-- A job that waits for more than could be tied at once.
function bells.N(id, what)
  local job = job_of(id)
  if job and not job.is_gone and job.x.waits == TYING then
    ties_left = math.huge
    local outcome = tie_all(job, some_of(named_key("m", id)))
    if outcome then
      leave(job)
      fall(job, outcome)
    elseif limit > 0 then
      put(job, "waits", "1")
    end
  end
  finish(what, limit > 0)
end

-- Those that wait for nothing any more go on; the others stand where it shows whether it is in vain.
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
