-- The delay before the next attempt, by the retry policy. Failures count, and leases that expired.
--- @requires core/call, core/header
--- @exports delay_of

-- Policies of jobs that have none, by the API that published them.
local NATIVE_POLICY = { kind = "exponential", delayMs = 1000, factor = 2, maxMs = 600000, jitter = 0.2 }
local LMSTFY_POLICY = { kind = "fixed", delayMs = 0 }

-- Jitter comes from a digest: the random numbers of Redis's Lua are the same in all scripts.
local function chance(job)
  return tonumber(string.sub(redis.sha1hex(job.id .. job.lease .. now_floor), 1, 8), 16) / 4294967296
end

-- In ms; nil = it is not tried again. group: of the failure.
function delay_of(job, group)
  local n = tonumber(job.x.failures or 0) + --[[ guard: crashes-count-for-the-delay ]] tonumber(job.x.crashes or 0)
  local policy = job.x.retry and cjson.decode(job.x.retry) or job.api == NATIVE_API and NATIVE_POLICY or LMSTFY_POLICY
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
  -- guard: scripts-set-no-global
  local delay = policy.delayMs
  if policy.kind == "linear" then
    delay = delay * n
  elseif policy.kind == "exponential" then
    delay = delay * (policy.factor or 2) ^ (n - 1)
  end
  delay = math.min(delay, policy.maxMs or 2 ^ 46)
  return math.floor(delay * (1 - (policy.jitter or 0) * chance(job)))
end
