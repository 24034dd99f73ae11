--[[
Add what one server has counted of queues within five minutes, for their history. All keys have a TTL of Redis's own, and need no marker of the
namespace.

KEYS meta, changed
ARGV clock_ms, deadline_ms, slot, since_ms, most
ITEM queue, counts, waits, runs
changed: zset      queue name -> when it last had activity, Unix ms
slot: integer      of five minutes, since 1970-01-01
since_ms: integer  the time of the first thing that was counted, Unix ms: after a purge nothing from before it is added
most: integer      queues of a slot at most; others are not counted
counts: text       "published,leased,acked,failed,died"
waits: text        time from publish to lease: ",bin:count" for each bin that is not empty (src/engine/history/log-bins.ts)
runs: text         time from lease to acknowledgement, likewise

Returns {status, now_ms}.
Cost: O(bins) per item.
]]

--- @adds
--- @requires core/call, core/purges, queues/statistics

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- The slot is read until the end of the next one.
local KEEP_MS = 900000
local COUNTS, TALLY = "^(%d+),(%d+),(%d+),(%d+),(%d+)", "^([^;]*);([^;]*);([^;]*)$"
local key = namespace_key("a" .. string.format("%d", slot))

local function add_counts(counts, more)
  local sums, others = { string.match(counts, COUNTS) }, { string.match(more, COUNTS) }
  for i, count in ipairs(others) do
    sums[i] = text_of(sums[i] + count)
  end
  return table.concat(sums, ",")
end

-- Read.
redis.call("EXISTS", meta, changed, key, purge_key())
if --[[ guard: activity-of-a-purged-namespace ]] is_from_before_purge(since_ms) then
  return { 0, now_floor }
end
local room, fields, times = most - redis.call("HLEN", key), {}, {}
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local queue, counts, waits, runs = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local known = redis.call("HGET", key, queue)
  if known then
    local own, own_waits, own_runs = string.match(known, TALLY)
    counts, waits, runs = add_counts(own, counts), statistics.merge_bins(own_waits, waits), statistics.merge_bins(own_runs, runs)
  end
  -- guard: activity-queues-bounded
  if known or room > 0 then
    room = known and room or room - 1
    fields[#fields + 1], fields[#fields + 2] = queue, counts .. ";" .. waits .. ";" .. runs
    times[#times + 1], times[#times + 2] = text_of(now_floor), queue
  end
end
if #fields == 0 then
  return { 0, now_floor }
end

-- Write.
redis.call("HSET", key, unpack(fields))
redis.call("ZADD", changed, unpack(times))
redis.call("ZREMRANGEBYSCORE", changed, "-inf", text_of(now_floor - KEEP_MS))
redis.call("PEXPIRE", key, KEEP_MS)
redis.call("PEXPIRE", changed, KEEP_MS)
return { 0, now_floor }
