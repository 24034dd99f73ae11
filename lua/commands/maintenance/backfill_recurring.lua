--[[
Count recurring jobs for the quota on bytes that were stored while there was none.

KEYS meta
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, counted}. Counted: how many were not counted before.
Cost: O(1) per item.
]]

--- @requires core/call, limits/recurring_bytes

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local counted = 0
if redis.call("EXISTS", meta) == 0 then
  return { 0, now_floor, counted }
end
for i = FIRST_ITEM, #ARGV do
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
