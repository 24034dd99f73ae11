--[[
Take the statistics of a day, which are then added in another Redis. They are set aside under another name until they are there: so a server that ends
in between loses nothing, and what is counted meanwhile is taken next time. The days are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker; only its name is used
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] day          days since 1970-01-01, UTC
ARGV[4] verb         take: set it aside, unless something is; number: give what is set aside its number; drop: remove it
ARGV[5] number       the last batch that the other Redis has added, for number; the number of what is to be removed, for drop

Returns {status, now_ms, number, fields}. Status: 0 done, 1 too late. Number: of what is set aside, "" = it has none yet; a larger one than those before.
Fields: a flat list, of what is set aside.
Cost: O(1), and O(queues) to read them.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms, day, verb, number = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]

--- @requires core/call, queues/statistics

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local key = day_key(day)
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
