-- Timers of what is remembered for a limited time: workers that were not seen, and tracked jobs that have ended.
local function forget_old(name, age_ms, what)
  local key = namespace_key(name)
  local old = redis.call("ZRANGEBYSCORE", touch(key), "-inf", now_floor - age_ms, "LIMIT", 0, limit)
  limit = limit - #old
  for _, member in ipairs(old) do
    free("ZREM", key, member)
  end
  lasts[#lasts + 1] = function()
    local first = redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2]
    if first then
      redis.call("ZADD", timers, text_of(first + age_ms), what)
    else
      redis.call("ZREM", timers, what)
    end
  end
end

function timer_handlers.W(_, what)
  forget_old("workers", namespace_setting("max_worker_age_ms", 86400000), what)
end

function timer_handlers.T(_, what)
  forget_old("traces", TRACE_AGE_MS, what)
end
