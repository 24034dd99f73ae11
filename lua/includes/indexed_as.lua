-- What a job's indexes are made from, before this script changes it: see update_indexes.
local function was_of(job)
  return {
    state = job.state, queue = job.queue, tags = job.x.tags, unindexed = job.x.unindexed, type = job.x.type, fgroup = job.x.fgroup,
    worker = job.x.worker, tracked = job.x.tracked,
  }
end
