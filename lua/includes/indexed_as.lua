-- What a job's indexes are made from, before this script changes it: see update_indexes.
local function was_of(job)
  return {
    state = job.state, tags = job.x.tags, type = job.x.type, fgroup = job.x.fgroup, worker = job.x.worker, tracked = job.x.tracked,
  }
end
