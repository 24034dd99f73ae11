--[[
Add what one server has measured to the statistics of a day. A batch that is sent again is not counted again: each server numbers its own.
The day's hash is built from the prefix of meta (core/call); it has a TTL of Redis's own, and needs no marker of the namespace.

KEYS[1] meta         hash: the namespace's marker; only its name is used
KEYS[2] settings     hash: the namespace's settings; history_days says how long a day is kept
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] day          days since 1970-01-01, UTC
ARGV[4] source       the server, by a name that no other server ever has
ARGV[5] sequence     the batch's number, above that of the last one from this source
ARGV[6] default_days how long a day is kept if the namespace has not set it, 0 = no statistics
ARGV[7] most         queues of a day at most; those beyond are added up as "*"
ARGV[8] since_ms     the time of the first thing that was counted, Unix ms: after a purge nothing from before it is added
ARGV[9..] item × N   queue, tally

Tally: "waits;runs;failures;retries" (queues/statistics). Returns {status, now_ms, place × N}. Status: 0 done, 1 too late. Place, from 0: of an item
whose queue has no numbers of its own.
Cost: O(bins) per item.
]]
local meta, settings = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local day, source, sequence = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local default_days, most, since_ms = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

--- @adds
--- @requires core/call, core/purges, queues/statistics

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local OTHERS = "*"
local key, mark = day_key(day), ":" .. source

-- Read.
redis.call("EXISTS", meta, settings, key, purge_key())
local days = tonumber(redis.call("HGET", settings, "history_days") or default_days)
if days == 0 or --[[ guard: statistics-of-a-purged-namespace ]] is_from_before_purge(since_ms) or --[[ guard: statistics-batch-once ]] tonumber(redis.call("HGET", key, mark) or 0) >= sequence then
  return { 0, now_floor }
end
local room = most - redis.call("HLEN", key) + redis.call("HEXISTS", key, OTHERS)
local tallies, reply = {}, { 0, now_floor }
for i = 9, #ARGV, 2 do
  local queue, more = ARGV[i], ARGV[i + 1]
  local known = tallies[queue] or redis.call("HGET", key, queue)
  -- guard: statistics-queues-bounded
  if not known and queue ~= OTHERS and room <= 0 then
    reply[#reply + 1] = (i - 9) / 2
    queue = OTHERS
    known = tallies[queue] or redis.call("HGET", key, queue)
  end
  room = (known or queue == OTHERS) and room or room - 1
  tallies[queue] = known and merge_tallies(known, more) or more
end

-- Write.
local fields = { mark, sequence }
for queue, tally in pairs(tallies) do
  fields[#fields + 1] = queue
  fields[#fields + 1] = tally
end
redis.call("HSET", key, unpack(fields))
-- guard: statistics-day-expires
redis.call("PEXPIREAT", key, text_of((day + 1 + days) * DAY_MS))
return reply
