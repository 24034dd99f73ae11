-- Removes dependencies of a job.
local function untie(job, id)
  waiter(job)
  if redis.call("SISMEMBER", touch(needs_key(job.id)), id) == 1 then
    job.unmet = job.unmet - 1
    edge(job, "SREM", needs_key(job.id), id)
  elseif redis.call("HEXISTS", touch(named_key("f", job.id)), id) == 1 then
    job.failed = job.failed - 1
    edge(job, "HDEL", named_key("f", job.id), id)
  end
  edge(job, "SREM", named_key("m", job.id), id)
  free("SREM", users_key(id), job.id)
  free("SREM", named_key("v", id), job.id)
end

-- The job depends only on these from now on. The sets of dependents of the others are out of date then; their readers check.
local function untie_all(job)
  waiter(job)
  job.unmet, job.failed = 0, 0
  forget_needs(job)
end

local function retie(job, wish, more, less)
  if wish.only then
    untie_all(job)
  end
  for _, id in ipairs(less) do
    untie(job, id)
  end
  return tie_all(job, more)
end
