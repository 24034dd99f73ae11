--[[
Find the workers that have stalled jobs, among some of those that were seen last.

KEYS meta, workers
ARGV clock_ms, deadline_ms, skip, limit
skip: integer   how many workers that were seen later are left out
limit: integer  how many are looked at

Returns {status, now_ms, (worker, stalled) × N}. Stalled: its jobs whose lease expired, and that no worker has leased since.
Cost: O(limit · log N).
]]

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
