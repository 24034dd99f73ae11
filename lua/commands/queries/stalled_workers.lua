--[[
Find the workers that have stalled jobs, among some of those that were seen last. The keys of their leases are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] workers      zset: name -> when it was last seen, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] skip         how many workers that were seen later are left out
ARGV[4] limit        how many are looked at

Returns {status, now_ms, (worker, stalled) × N}. Status: 0 done, 1 too late. Stalled: its jobs whose lease expired, and that no worker has leased since.
Cost: O(limit · log N).
]]
local meta, workers = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, skip, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, workers)
local reply, now = { 0, now_floor }, text_of(now_floor)
for _, worker in ipairs(redis.call("ZREVRANGE", workers, skip, skip + limit - 1)) do
  local stalled = redis.call("ZCOUNT", namespace_key("w:" .. worker), "-inf", now)
  if stalled > 0 then
    reply[#reply + 1], reply[#reply + 2] = worker, stalled
  end
end
return reply
