--[[
Count the ready jobs of some fair keys of a queue; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, cursor
cursor: text  where the last call ended, "0" = begin

Returns {status, now_ms, cursor, (name, jobs) × N}. Cursor: "0" = these are the last ones. Name: of the key as Redis has it. A key may come twice.
Cost: O(100).
]]

--- @requires core/call, queues/registry, queues/fair_keys

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local AT_ONCE = 100
local number = registry.find_queue(queue)
if not number then
  return { 0, now_floor, "0" }
end
local page = redis.call("ZSCAN", fair_keys.turns_key(number), cursor, "COUNT", AT_ONCE)
local reply = { 0, now_floor, page[1] }
for i = 1, #page[2], 2 do
  local name, n = page[2][i], #reply
  reply[n + 1], reply[n + 2] = name, redis.call("ZCARD", fair_keys.fair_list_key(number, name))
end
return reply
