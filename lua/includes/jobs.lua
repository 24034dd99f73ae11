-- Whole jobs: a table with the fields of the header, and in x those of the hash. One table for each job and script.
--- @requires core/header
--- @include "indexed_as"
local jobs, changed = {}, {}

local function job_of(id)
  if jobs[id] == nil then
    local job = read_job(id)
    if job then
      job.id, job.x, job.news = id, {}, {}
      local all = job.flags % 2 == HAS_EXTRAS and redis.call("EXISTS", meta, extras_key(id)) and redis.call("HGETALL", extras_key(id)) or {}
      for i = 1, #all, 2 do
        job.x[all[i]] = all[i + 1]
      end
      job.was = is_extended(job) and was_of(job)
    end
    jobs[id] = job or false
  end
  return jobs[id] or nil
end

local function will_change(job)
  if not job.is_changed then
    job.is_changed, changed[#changed + 1] = true, job
    touch(job_key(job.id))
    touch(extras_key(job.id))
  end
  return job
end

-- Sets a field of the hash; nil removes it. Only extended jobs have such fields: see make_extended.
local function put(job, field, value)
  if value ~= nil or job.x[field] then
    will_change(job)
    job.x[field], job.news[field] = value, true
  end
end
