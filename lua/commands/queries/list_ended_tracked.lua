--[[
List tracked jobs that have ended, the earliest first; changes nothing.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] traces       zset: id -> when it went, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] limit        ids, at most

Returns {status, now_ms, (id, gone_ms) × N}. Status: 0 done, 1 too late.
Cost: O(limit).
]]
local meta, traces = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, traces)
return { 0, now_floor, unpack(redis.call("ZRANGE", traces, 0, limit - 1, "WITHSCORES")) }
