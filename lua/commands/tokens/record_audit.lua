--[[
Store an entry of the audit log, or complete one. Old ones are removed. It works in a full Redis: what is done there must be recorded, too.

KEYS audit
ARGV entry, replaces, keep_ms, max
audit: zset       "<number> <entry>" -> number: when it was made, Unix µs, and more than that of the entry before
entry: text       JSON
replaces: text    member that is completed, "" = a new one
keep_ms: integer  how long entries are kept
max: integer      how many are kept

Returns the member; "" if the one to complete is gone.
Cost: O(log N + M) for M entries that are removed.
]]

local time = redis.call("TIME")
local now_us = time[1] * 1000000 + time[2]
local number
if replaces ~= "" then
  if redis.call("ZREM", audit, replaces) == 0 then
    return ""
  end
  number = string.match(replaces, "^%d+")
else
  local newest = tonumber(redis.call("ZREVRANGE", audit, 0, 0, "WITHSCORES")[2] or 0)
  number = string.format("%.0f", math.max(now_us, newest + 1))
end
local member = number .. " " .. entry
redis.call("ZADD", audit, number, member)
-- guard: audit-bounded-in-time
redis.call("ZREMRANGEBYSCORE", audit, "-inf", string.format("(%.0f", now_us - keep_ms * 1000))
-- guard: audit-bounded-in-count
redis.call("ZREMRANGEBYRANK", audit, 0, -max - 1)
redis.call("PEXPIRE", audit, keep_ms)
return member
