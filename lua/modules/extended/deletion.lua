-- Whether a job may be deleted.
--- @requires core/header, extended/jobs, jobs/dependents
--- @exports why_kept

-- Why a job stays, as a code of the command extended/delete_job, and some of its dependents; nil = it may go. force: also if it is leased. severs: also if
-- jobs depend on it.
function why_kept(job, force, severs)
  if not job or job.is_gone or is_expired(job) then
    return 0
  elseif job.state == LEASED and not force then
    return 2
  end
  -- After its end, its dependents know how it ended.
  local is_needed, ids = false, {}
  if not severs and job.state < DONE then
    is_needed, ids = dependents.has_dependents(job)
  end
  -- guard: needed-job-not-deleted
  if is_needed then
    return 3, ids
  end
end
