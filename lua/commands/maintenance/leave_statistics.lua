--[[
Take the statistics of a day, which are then added in another Redis. They are set aside under another name until they are there: so a server that ends
in between loses nothing, and what is counted meanwhile is taken next time.

KEYS meta
ARGV clock_ms, deadline_ms, day, verb, number
verb: text    take: set it aside, unless something is; number: give what is set aside its number; drop: remove it
number: text  the last batch that the other Redis has added, for number; the number of what is to be removed, for drop

Returns {status, now_ms, number, fields}. Number: of what is set aside, "" = it has none yet; a larger one than those before. Fields: a flat list, of
what is set aside.
Cost: O(1), and O(queues) to read them.
]]

--- @requires core/call, queues/statistics

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local key = statistics.day_key(day)
local aside = key .. ":leaving"
redis.call("EXISTS", meta, key, aside)
if verb == "take" and redis.call("EXISTS", aside) == 0 and redis.call("EXISTS", key) == 1 then
  redis.call("RENAME", key, aside)
elseif verb == "number" and redis.call("EXISTS", aside) == 1 then
  redis.call("HSETNX", aside, ":number", number)
elseif verb == "drop" and redis.call("HGET", aside, ":number") == number then
  redis.call("UNLINK", aside)
end
return { 0, now_floor, redis.call("HGET", aside, ":number") or "", redis.call("HGETALL", aside) }
