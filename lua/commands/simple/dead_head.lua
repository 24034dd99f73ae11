--[[
Show the head of a queue's dead-letter queue, the job that died first; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue

Returns {status, now_ms, id, size}. Id "" = no job is dead.
Cost: O(log N).
]]

--- @requires core/call, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if not number then
  return { 0, now_floor, "", 0 }
end
local dead = queue_key("d", number)
return { 0, now_floor, redis.call("ZRANGE", dead, 0, 0)[1] or "", redis.call("ZCARD", dead) }
