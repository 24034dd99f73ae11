-- Removes a job in any state before its work is done; its dependents see a failed dependency.
local function remove(job)
  leave(job)
  if job.state >= DONE then
    vanish_kept(job)
    emit_event("deleted", job)
  else
    conclude(job, nil, "deleted", worker_facts(job))
  end
end
