--[[
Show the settings of queues; changes nothing. Queue keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   queue

Returns {status, now_ms, (found, settings) × N}. Status: 0 done, 1 too late. Found: 1 = there is such a queue. Settings: a flat list of
fields and values.
Cost: O(1) per item.
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @requires core/call, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply = { 0, now_floor }
for i = 3, #ARGV do
  local number, n = find_queue(ARGV[i]), #reply
  reply[n + 1] = number and 1 or 0
  redis.call("EXISTS", meta, queue_key("o", number or 0))
  reply[n + 2] = number and redis.call("HGETALL", queue_key("o", number)) or {}
end
return reply
