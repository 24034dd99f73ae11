--[[
Repair what Redis has stored while its clock was ahead: recurring jobs by interval go on with the next slot from now, and workers were seen now. A
page of them at a time.

KEYS meta, due, workers
ARGV clock_ms, deadline_ms, skip, limit
skip: integer   recurring jobs of earlier pages that are as they should be
limit: integer  recurring jobs, and workers, of a page

Returns {status, now_ms, skip, repaired, next_ms}. Skip: of the next page, -1 = this is the last one. Next_ms: the earliest timer that was set, 0 =
none.
Cost: O(limit log N).
]]

--- @requires core/call, queues/sessions, timers/served_slots

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read. The recurring jobs whose timers are furthest ahead come first.
local by_interval, all_sessions, timers = namespace_key("recurring"), sessions.sessions_key(), namespace_key("timers")
redis.call("EXISTS", meta, due, workers, by_interval, all_sessions, timers)
local ids = redis.call("ZREVRANGEBYSCORE", by_interval, "+inf", text_of(now_floor + served_slots.AHEAD_MS), "LIMIT", skip, limit)
local seen = redis.call("ZRANGEBYSCORE", workers, text_of(now_floor + served_slots.AHEAD_MS), "+inf", "LIMIT", 0, limit)
local known, ttrs = {}, {}
for i, id in ipairs(ids) do
  known[i] = redis.call("HMGET", named_key("R", id), "every", "first", "last", "skip_at")
end
for i, worker in ipairs(seen) do
  ttrs[i] = tonumber(redis.call("HGET", session_key(worker), "ttr") or nil)
end

-- Write.
local next_ms, repaired = math.huge, #seen
local function set(timer, at)
  next_ms = math.min(next_ms, at)
  redis.call("ZADD", timers, "LT", text_of(at), timer)
end
for i, id in ipairs(ids) do
  local every, first, last, skip_at = tonumber(known[i][1] or "0"), tonumber(known[i][2] or nil), tonumber(known[i][3] or "0"), tonumber(known[i][4] or "0")
  -- A job whose first slot is in the future has served none.
  if every > 0 and first and served_slots.is_ahead(math.max(last, skip_at), now_floor, every) then
    local slot = served_slots.slot_after(first, every, now_ceil - 1)
    redis.call("HSET", named_key("R", id), "next", text_of(slot), "last", text_of(math.min(last, slot - every)))
    redis.call("HSET", named_key("R", id), "skip_at", text_of(math.min(skip_at, now_floor)))
    redis.call("ZADD", by_interval, text_of(slot), id)
    set("R", slot)
    repaired = repaired + 1
  else
    skip = skip + 1
  end
end
for i, worker in ipairs(seen) do
  redis.call("ZADD", workers, text_of(now_floor), worker)
  if ttrs[i] then
    redis.call("HSET", session_key(worker), "at", text_of(now_floor))
    redis.call("ZADD", all_sessions, "XX", text_of(now_floor + ttrs[i]), worker)
    set(sessions.LOST_TIMER, now_floor + ttrs[i])
  end
end
if #seen > 0 then
  set("W", now_floor + tonumber(redis.call("HGET", namespace_key("settings"), "max_worker_age_ms") or 86400000))
end
if next_ms < math.huge then
  redis.call("ZADD", due, "LT", text_of(next_ms), EXTENDED_TIMERS)
end
local is_last = #ids < limit and #seen < limit
return { 0, now_floor, is_last and -1 or skip, repaired, next_ms < math.huge and next_ms or 0 }
