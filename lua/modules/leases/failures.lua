-- Lease operations retry and fail: the failure is recorded on the job, which may get new data.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/dead_jobs
--- @requires leases/claims
--- @exports retry, fail

-- The delay before the next attempt, by the retry policy: n counts failures, from 1. nil = no retry. Jitter comes from a digest: the random numbers of Redis's
-- Lua are the same in all scripts.
local function chance(job)
  return tonumber(string.sub(redis.sha1hex(job.id .. job.lease .. now_floor), 1, 8), 16) / 4294967296
end

local function delay_of(job, n, group)
  local policy = job.x.retry and cjson.decode(job.x.retry) or { kind = "fixed", delayMs = 0 }
  for _, final in ipairs(policy.nonRetryable or {}) do
    if final == group then
      return nil
    end
  end
  if policy.kind == "none" then
    return nil
  elseif policy.kind == "list" then
    return policy.delaysMs[math.min(n, #policy.delaysMs)] or 0
  end
  local delay = policy.delayMs
  if policy.kind == "linear" then
    delay = delay * n
  elseif policy.kind == "exponential" then
    delay = delay * (policy.factor or 2) ^ (n - 1)
  end
  delay = math.min(delay, policy.maxMs or 2 ^ 46)
  return math.floor(delay * (1 - (policy.jitter or 0) * chance(job)))
end

local function record_failure(job, options, data)
  take_back(job)
  make_extended(job, true)
  put(job, "failures", tonumber(job.x.failures or 0) + 1)
  put(job, "fgroup", options.group)
  put(job, "fmessage", options.message)
  put(job, "fat", now_floor)
  put(job, "fworker", job.x.worker)
  if options.has_data then
    replace_typed_body(job, data, options.ctype)
  end
end

local function where(job)
  return cjson.encode({ queue = name_of(job.queue) })
end

function retry(job, options, data)
  record_failure(job, options, data)
  local delay = options.delay_ms or delay_of(job, tonumber(job.x.failures), options.group)
  if job.tries == 0 or not delay then
    die(job, options.group, options.message, job.x.worker)
    return 1, 0, where(job)
  end
  local at = delay > 0 and now_ceil + delay
  go(job, at and SCHEDULED or READY, at)
  log_event("retried", job, { group = options.group, message = options.message, worker = job.x.worker, due = at or nil })
  return 1, at, where(job)
end

function fail(job, options, data)
  record_failure(job, options, data)
  log_event("failed", job, { group = options.group, message = options.message, worker = job.x.worker })
  die(job, options.group, options.message, job.x.worker)
  return 1, 0, where(job)
end
