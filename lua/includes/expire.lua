-- Jobs that expire.
local function expire(job)
  counts.expired = counts.expired + 1
  leave(job)
  conclude(job, nil, "expired", worker_facts(job))
end

function timer_handlers.E(_, what)
  for _, id in ipairs(due_in(namespace_key("expiring"), what)) do
    local job = job_of(id)
    if job and not job.is_gone and is_expired(job) then
      expire(job)
    end
    free("ZREM", namespace_key("expiring"), id)
  end
end
