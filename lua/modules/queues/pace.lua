-- How many jobs of each queue were leased lately, as far as servers have written their statistics. A hint for explanations: a hash for each span of time,
-- with a Redis TTL.
--- @requires core/call
--- @exports record_leased, leased_lately

local SPAN_MS = 30000
-- Two spans are read, and servers write a moment later.
local KEEP_MS = 120000

local function pace_key(span)
  return namespace_key("pace" .. string.format("%d", span))
end

-- at: when they were leased, Unix ms.
function record_leased(queue, count, at)
  local key = pace_key(math.floor(at / SPAN_MS))
  redis.call("HINCRBY", key, queue, count)
  redis.call("PEXPIRE", key, KEEP_MS)
end

-- Returns how many jobs, and within how many ms until now.
function leased_lately(queue)
  local span = math.floor(now_floor / SPAN_MS)
  redis.call("EXISTS", meta_key, pace_key(span - 1), pace_key(span))
  local before, present = redis.call("HGET", pace_key(span - 1), queue), redis.call("HGET", pace_key(span), queue)
  return (before or 0) + (present or 0), now_floor - (span - 1) * SPAN_MS
end
