--[[
Forget a queue, its settings too, if there is no job in it, in whatever state. Its number is never used again. Keys of queues are built
from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] queue        its name

Returns {status, now_ms, code}. Status: 0 done, 1 too late. Code: 0 forgotten, 1 there is no such queue, 2 there are jobs in it, 3 there
was more to clear away than fits in a step: again.
Cost: O(100) lists of far slots.
]]
local meta, queues, due, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock_ms, deadline_ms, queue = ARGV[1], tonumber(ARGV[2]), ARGV[3]

--- @include "lib/now"
--- @include "lib/keys"
--- @include "lib/named_keys"
--- @include "lib/slots"
--- @include "lib/find_queue"
--- @include "lib/kept_in"

local number = find_queue(queue)
if not number then
  return { 0, now_floor, 1 }
end

-- Look. Lists of far slots hold nothing but ghosts when no job counts as far.
local MOST_SLOTS = 100
local ready, ghosts, info, far = queue_key("r", number), queue_key("g", number), queue_key("i", number), queue_key("f", number)
redis.call("EXISTS", meta, due, expiries, ready, ghosts, info, far, space_key("timers"))
local facts = redis.call("HMGET", info, "blanks", "far")
local live = redis.call("LLEN", ready) - redis.call("SCARD", ghosts) - (facts[1] or 0) + (facts[2] or 0)
if live > 0 or kept_in(number, "sldpSLbhz") > 0 then
  return { 0, now_floor, 2 }
end
local slots, lists = redis.call("ZRANGE", far, 0, MOST_SLOTS - 1), {}
for i, slot in ipairs(slots) do
  lists[i] = slot_key(number, slot)
end

-- Write.
if #slots > 0 then
  redis.call("EXISTS", unpack(lists))
  redis.call("UNLINK", unpack(lists))
  redis.call("ZREM", far, unpack(slots))
end
if #slots == MOST_SLOTS then
  return { 0, now_floor, 3 }
end
redis.call("UNLINK", ready, ghosts, info, far, queue_key("o", number))
redis.call("HDEL", queues, queue)
redis.call("ZREM", due, number)
redis.call("ZREM", expiries, number)
redis.call("ZREM", space_key("timers"), "P" .. number, "K" .. number, "S" .. number, "L" .. number)
return { 0, now_floor, 0 }
