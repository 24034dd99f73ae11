-- Jobs with dependencies. unmet and failed: how many of those have not ended, and how many ended in another way than done.
local waiters, TYING = {}, "t"
local function waiter(job)
  if not job.unmet then
    waiters[#waiters + 1], job.unmet, job.failed = job, 0, 0
    if job.x.waits then
      job.unmet = redis.call("SCARD", touch(needs_key(job.id)))
      job.failed = redis.call("HLEN", touch(named_key("f", job.id)))
    end
  end
  return job
end

-- A change of its dependencies; skipped if the job has none any more when the script writes.
local function edge(job, command, key, ...)
  local call = { command, touch(key), ... }
  steps[#steps + 1] = function()
    if job.x.waits then
      redis.call(unpack(call))
    end
  end
end

local function is_waiting(job)
  return waiter(job).unmet + job.failed > 0 or job.x.waits == TYING
end

-- Since its publish; negative if a dependency has failed.
local function block(job)
  local since = tonumber(job.x.put or now_floor)
  go(job, BLOCKED, waiter(job).failed > 0 and -since or since)
end

-- All dependencies are met: nothing of them is left behind.
local function forget_needs(job)
  free("DEL", needs_key(job.id), named_key("f", job.id), named_key("m", job.id))
  put(job, "waits", nil)
end
