--[[
Show the head of a queue's dead letter, the job that died first; changes nothing.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] queue        its name

Returns {status, now_ms, id, size}. Status: 0 done, 1 too late. Id "" = nobody is dead.
Cost: O(log N).
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, queue = ARGV[1], tonumber(ARGV[2]), ARGV[3]

--- @include "lib/now"
--- @include "lib/keys"
--- @include "lib/find_queue"

local number = find_queue(queue)
if not number then
  return { 0, now_floor, "", 0 }
end
local dead = queue_key("d", number)
return { 0, now_floor, redis.call("ZRANGE", dead, 0, 0)[1] or "", redis.call("ZCARD", dead) }
