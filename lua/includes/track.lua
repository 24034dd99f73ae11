-- Starts or ends the tracking of a job, with an event.
local function track(job, since)
  make_extended(job)
  if not since then
    emit_event("untracked", job)
  end
  put(job, "tracked", since and (job.x.tracked or since))
  if since then
    emit_event("tracked", job)
  end
  return 1
end
