--[[
Count recurring jobs for the quota on bytes that were stored while there was none. Their keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   id

Returns {status, now_ms, counted}. Status: 0 done, 1 too late. Counted: how many were not counted before.
Cost: O(1) per item.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @requires core/call, limits/recurring_bytes

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local counted = 0
if redis.call("EXISTS", meta) == 0 then
  return { 0, now_floor, counted }
end
for i = 3, #ARGV do
  local key = named_key("R", ARGV[i])
  local known = redis.call("HMGET", key, "revision", "counted")
  if known[1] and not known[2] then
    local bytes = recurring_bytes(function(field)
      return redis.call("HSTRLEN", key, field)
    end)
    redis.call("HSET", key, "counted", bytes)
    redis.call("HINCRBY", meta, "bytes", bytes)
    counted = counted + 1
  end
end
return { 0, now_floor, counted }
