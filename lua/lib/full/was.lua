-- As it stands in the indexes before this script: see lib/full/tags.
local function was_of(job)
  return {
    state = job.state, tags = job.x.tags, type = job.x.type, fgroup = job.x.fgroup, worker = job.x.worker, tracked = job.x.tracked,
  }
end
