--[[
Show the settings of queues; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms
ITEM queue

Returns {status, now_ms, (found, settings) × N}. Found: 1 = there is such a queue. Settings: a flat list of fields and values.
Cost: O(1) per item.
]]

--- @requires core/call, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  local number, n = registry.find_queue(ARGV[i]), #reply
  reply[n + 1] = number and 1 or 0
  redis.call("EXISTS", meta, queue_key("o", number or 0))
  reply[n + 2] = number and redis.call("HGETALL", queue_key("o", number)) or {}
end
return reply
