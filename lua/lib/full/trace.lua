-- Begins or ends to track a job; both are told to who listens.
local function trace(job, since)
  make_rich(job)
  if not since then
    announce("untracked", job)
  end
  put(job, "tracked", since and (job.x.tracked or since))
  if since then
    announce("tracked", job)
  end
  return 1
end
