--[[
Read all that decides whether the jobs of a queue run, in one step; changes nothing.

KEYS meta, queues, waiting, targets, requested
ARGV clock_ms, deadline_ms, queue

Returns {status, now_ms, (name, value) × N}. Exists: 1 = there is such a queue; types: (type, ready jobs, since when the first one is ready, last request
that takes them, until when one waits) of those that come first; ready_of_paused_keys: how many are of fair keys that are paused; the rest as in
queues/queue_facts.
Cost: O(1).
]]

--- @requires core/call, queues/registry, queues/queue_facts

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
local reply = { 0, now_floor, "exists", number and "1" or "0" }
local keys = { waiting = waiting, targets = targets, requested = requested }
local function add(name, value)
  reply[#reply + 1], reply[#reply + 2] = name, value
end
queue_facts.add_queue_facts(add, queue, number, keys)
if number then
  queue_facts.add_types(add, keys, queue, number)
end
return reply
