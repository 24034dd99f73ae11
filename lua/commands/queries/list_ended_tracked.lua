--[[
List the tracked jobs that have ended last, the earliest of them first; changes nothing.

KEYS meta, traces
ARGV clock_ms, deadline_ms, limit
limit: integer  ids, at most

Returns {status, now_ms, (id, gone_ms) × N}.
Cost: O(limit).
]]

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, traces)
return { 0, now_floor, unpack(redis.call("ZRANGE", traces, --[[ guard: last-traces-are-shown ]] -limit, -1, "WITHSCORES")) }
