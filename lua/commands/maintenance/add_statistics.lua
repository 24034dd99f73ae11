--[[
Add what one server has measured to the statistics of a day. A batch that is sent again is not counted again: each server numbers its own. The day's
hash has a TTL of Redis's own, and needs no marker of the namespace.

KEYS meta, settings
ARGV clock_ms, deadline_ms, day, source, sequence, default_days, most, since_ms
ITEM queue, tally
settings: hash      the namespace's settings; history_days says how long a day is kept
source: text        the server, by a name that no other server ever has
sequence: integer   the batch's number, above that of the last one from this source
default_days: text  how long a day is kept if the namespace has not set it, 0 = no statistics
most: integer       queues of a day at most; those beyond are added up as "*"
since_ms: integer   the time of the first thing that was counted, Unix ms: after a purge nothing from before it is added

Tally: "waits;runs;failures;retries" (queues/statistics).
Returns {status, now_ms, place × N}. Place, from 0: of an item whose queue has no numbers of its own.
Cost: O(bins) per item.
]]

--- @adds
--- @requires core/call, core/purges, queues/statistics, queues/pace

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local OTHERS, COUNT = "*", ":queues"
local key, mark = statistics.day_key(day), ":" .. source

-- Read.
redis.call("EXISTS", meta, settings, key, purge_key())
local days = tonumber(redis.call("HGET", settings, "history_days") or default_days)
if days == 0 or --[[ guard: statistics-of-a-purged-namespace ]] is_from_before_purge(since_ms) or --[[ guard: statistics-batch-once ]] tonumber(redis.call("HGET", key, mark) or 0) >= sequence then
  return { 0, now_floor }
end
local queues = tonumber(redis.call("HGET", key, COUNT) or 0)
if queues == 0 then -- A new day, or one of an older server, which did not count them.
  for _, field in ipairs(redis.call("HKEYS", key)) do
    queues = queues + (field ~= OTHERS and string.sub(field, 1, 1) ~= ":" and 1 or 0)
  end
end
local tallies, leased, reply = {}, {}, { 0, now_floor }
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local queue, more = ARGV[i], ARGV[i + 1]
  -- Each lease counts a wait, and waits come first.
  leased[queue] = (leased[queue] or 0) + tonumber(string.match(more, "^(%d+),") or 0)
  local known = tallies[queue] or redis.call("HGET", key, queue)
  -- guard: statistics-queues-bounded
  if not known and queue ~= OTHERS and queues >= most then
    reply[#reply + 1] = (i - 9) / 2
    queue = OTHERS
    known = tallies[queue] or redis.call("HGET", key, queue)
  end
  queues = (known or queue == OTHERS) and queues or queues + 1
  tallies[queue] = known and statistics.merge_tallies(known, more) or more
end

-- Write.
local fields = { mark, sequence, COUNT, queues }
for queue, tally in pairs(tallies) do
  fields[#fields + 1] = queue
  fields[#fields + 1] = tally
end
redis.call("HSET", key, unpack(fields))
for queue, count in pairs(leased) do
  if count > 0 then
    pace.record_leased(queue, count, since_ms)
  end
end
-- guard: statistics-day-expires
redis.call("PEXPIREAT", key, text_of((day + 1 + days) * statistics.DAY_MS))
return reply
