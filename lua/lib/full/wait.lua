-- Jobs that wait for others. unmet and failed: how many of those are still to end, and how many ended otherwise than done.
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

-- A change of what it waits for; void if the script lets it go, or it waits no more when all is said.
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

-- Since its publish; with a minus before it if something that it waits for has failed.
local function block(job)
  local since = tonumber(job.x.put or now_floor)
  go(job, BLOCKED, waiter(job).failed > 0 and -since or since)
end

-- All is met: nothing that it waited for is left behind.
local function forget_needs(job)
  free("DEL", needs_key(job.id), named_key("f", job.id), named_key("m", job.id))
  put(job, "waits", nil)
end
