--[[
Find the workers that have stalled jobs, among some of those that were seen last.

KEYS meta, workers
ARGV clock_ms, deadline_ms, skip, limit
skip: integer   how many workers that were seen later are left out
limit: integer  how many are looked at

Returns {status, now_ms, (worker, stalled) × N}. Stalled: its jobs whose lease expired, and that no worker has leased since.
Cost: O(limit · log N) with jobs, O(limit) without.
]]

--- @requires core/call

local GROUP = 50

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, workers)
local reply, now = { 0, now_floor }, text_of(now_floor)
local prefix, seen = namespace_key("w:"), redis.call("ZREVRANGE", workers, skip, skip + limit - 1)
for first = 1, #seen, GROUP do
  local keys = {}
  for i = first, math.min(first + GROUP - 1, #seen) do
    keys[#keys + 1] = prefix .. seen[i]
  end
  -- Most workers of a large group have no jobs, and no key: one call finds that for all of them.
  if redis.call("EXISTS", unpack(keys)) > 0 then
    for i, key in ipairs(keys) do
      local stalled = redis.call("ZCOUNT", key, "-inf", now)
      if stalled > 0 then
        reply[#reply + 1], reply[#reply + 2] = seen[first + i - 1], stalled
      end
    end
  end
end
return reply
