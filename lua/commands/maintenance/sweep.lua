--[[
Look at one window of a queue's ready list for jobs that have expired: they are removed, and their entries (and stale ones) become tombstones. A pass
goes from the end of the list to its head, so that no entry is missed while jobs are taken at the head. It takes over the queue's member of expiries
at its first window (skip 0) and gives it back at its last. A list that no worker reads would fill with tombstones: those near its end, and those at
its head, are compacted.

KEYS meta, expiries
ARGV clock_ms, deadline_ms, number, skip, earliest_ms, mark
number: integer       the queue's
skip: integer         entries at the end of the list that this pass has seen, and that are still there
earliest_ms: integer  earliest expiry that this pass has seen, 0 = none
mark: text            digits that no other pass has

Returns {status, now_ms, looked, expired, earliest_ms, removed}. Looked < 200: the pass is over. Removed: how many of those that were looked at are no
longer in the list.
Cost: O(200), plus the way to the window, plus the tombstones at the head, 1,000 at most.
]]

--- @requires core/call, core/header, jobs/removal, jobs/events

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- To compact takes as long as the way to the tombstones: 0.1 ms for the farthest that are near the end.
local WINDOW, NEAR = 200, 5000
-- At the head, so many entries are looked at first, then so many more if there is a tombstone: the oldest jobs expire there, behind a few that stay.
local FIRST, AT_HEAD = 100, 1000

local function tombstones_in(entries)
  local n = 0
  for _, entry in ipairs(entries) do
    n = n + (entry == "" and 1 or 0)
  end
  return n
end

-- Takes so many tombstones out near the end of the list, and those at its head. Returns how many.
local function compact(ready, near_end)
  if near_end > 0 then
    redis.call("LREM", ready, -near_end, "")
  end
  if tombstones_in(redis.call("LRANGE", ready, 0, FIRST - 1)) == 0 then
    return near_end
  end
  local at_head = tombstones_in(redis.call("LRANGE", ready, 0, AT_HEAD - 1))
  -- guard: sweep-trims-tombstones
  redis.call("LREM", ready, at_head, "")
  return near_end + at_head
end

-- Read.
local ready, stale, facts = queue_key("r", number), queue_key("g", number), queue_key("i", number)
redis.call("EXISTS", meta, ready, stale, facts, expiries)
-- guard: sweep-ends-for-newer
if skip > 0 and string.match(redis.call("HGET", facts, "sweep") or "", "%.(%d+)$") ~= mark then
  -- Another pass has begun, and has removed what this one counted.
  return { 0, now_floor, 0, 0, earliest_ms, 0 }
end
local entries = redis.call("LRANGE", ready, -skip - WINDOW, -skip - 1)
local keys, dropped, new_tombstones, tombstones, expired = {}, {}, {}, 0, 0
for i, entry in ipairs(entries) do
  local id = string.sub(entry, 1, -2)
  local job = entry ~= "" and read_job(id)
  local is_live = is_live_entry(job, entry, number)
  if is_live and (is_extended(job) or not is_expired(job)) then
    if job.expires > 0 and not is_extended(job) and (earliest_ms == 0 or job.expires < earliest_ms) then
      earliest_ms = job.expires
    end
  elseif entry == "" then
    tombstones = tombstones + 1
  else
    new_tombstones[#new_tombstones + 1] = i - 1 - #entries - skip
    if is_live then
      removal.mark_for_deletion(keys, id, job.flags)
      expired = expired + 1
      events.emit_in(number, "expired", id)
    else
      dropped[#dropped + 1] = entry
    end
  end
end

-- Write.
if #keys > 0 then
  redis.call("DEL", unpack(keys))
end
removal.return_freed_bytes()
if #dropped > 0 then
  redis.call("SREM", stale, unpack(dropped))
end
if skip == 0 then
  redis.call("ZREM", expiries, number)
end
for _, index in ipairs(new_tombstones) do
  redis.call("LSET", ready, index, "")
end
-- guard: sweep-drops-tombstones
local removed = skip <= NEAR and tombstones + #new_tombstones or 0
local gone = compact(ready, removed)
if #new_tombstones ~= gone then
  redis.call("HINCRBY", facts, "blanks", #new_tombstones - gone)
end
if #entries < WINDOW then
  redis.call("HDEL", facts, "sweep")
  if earliest_ms > 0 then
    redis.call("ZADD", expiries, "LT", earliest_ms, number)
  end
else
  -- No other server begins a pass while this mark is fresh. If this server dies, the mark ages, and another one starts the pass again.
  redis.call("HSET", facts, "sweep", text_of(now_floor) .. "." .. mark)
end
events.write_events()
return { 0, now_floor, #entries, expired, earliest_ms, removed }
