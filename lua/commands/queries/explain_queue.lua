--[[
Read all that decides whether the jobs of a queue run, in one step; changes nothing.

KEYS meta, queues, waiting, targets, requested
ARGV clock_ms, deadline_ms, queue

Returns {status, now_ms, (name, value) × N}. Exists: 1 = there is such a queue; the rest as in queues/queue_facts.
Cost: O(1).
]]

--- @requires core/call, queues/registry, queues/queue_facts

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
local reply = { 0, now_floor, "exists", number and "1" or "0" }
queue_facts.add_queue_facts(function(name, value)
  reply[#reply + 1], reply[#reply + 2] = name, value
end, queue, number, { waiting = waiting, targets = targets, requested = requested })
return reply
