--[[
Show the head of a queue's dead-letter queue, the job that died first; changes nothing.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] queue        its name

Returns {status, now_ms, id, size}. Status: 0 done, 1 too late. Id "" = no job is dead.
Cost: O(log N).
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, queue = ARGV[1], tonumber(ARGV[2]), ARGV[3]

--- @requires core/call, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = find_queue(queue)
if not number then
  return { 0, now_floor, "", 0 }
end
local dead = queue_key("d", number)
return { 0, now_floor, redis.call("ZRANGE", dead, 0, 0)[1] or "", redis.call("ZCARD", dead) }
