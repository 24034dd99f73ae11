--[[
Take the statistics of a day, which are then added in another Redis. They are set aside under another name until they are there: so a server that ends
in between loses nothing, and what is counted meanwhile is taken next time.

KEYS meta
ARGV clock_ms, deadline_ms, day, verb, number
verb: text    take: set it aside, unless something is or nothing was counted; number: give what is set aside its number; drop: remove it
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

-- What stays: the numbers of the last batches, as a batch whose answer was lost comes again. Also returns whether there is more than that.
local function last_batches_of_day()
  local fields, batches, has_tallies = redis.call("HGETALL", key), {}, false
  for i = 1, #fields, 2 do
    local is_mark = string.sub(fields[i], 1, 1) == ":"
    has_tallies = has_tallies or not is_mark
    if is_mark and fields[i] ~= ":queues" then
      batches[#batches + 1], batches[#batches + 2] = fields[i], fields[i + 1]
    end
  end
  return batches, has_tallies
end

local function set_aside()
  local batches, has_tallies = last_batches_of_day()
  if not has_tallies then
    return
  end
  redis.call("RENAME", key, aside)
  local ttl_ms = redis.call("PTTL", aside)
  if --[[ guard: taken-day-keeps-its-batches ]] #batches > 0 then
    redis.call("HSET", key, unpack(batches))
    if ttl_ms > 0 then
      redis.call("PEXPIRE", key, ttl_ms)
    end
  end
end

if verb == "take" and redis.call("EXISTS", aside) == 0 then
  set_aside()
elseif verb == "number" and redis.call("EXISTS", aside) == 1 then
  redis.call("HSETNX", aside, ":number", number)
elseif verb == "drop" and redis.call("HGET", aside, ":number") == number then
  redis.call("UNLINK", aside)
end
return { 0, now_floor, redis.call("HGET", aside, ":number") or "", redis.call("HGETALL", aside) }
