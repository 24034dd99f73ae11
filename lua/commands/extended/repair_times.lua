--[[
Repair what Redis has stored while its clock was ahead: recurring jobs by interval go on with the next slot from now, and workers were seen now. Timers
that only look at what is waiting run now. A page of each at a time.

KEYS meta, due, workers
ARGV clock_ms, deadline_ms, skip, skip_timers, limit
skip: integer         recurring jobs of earlier pages that are as they should be
skip_timers: integer  the same for timers
limit: integer        recurring jobs, workers, and timers of a page

Returns {status, now_ms, skip, skip_timers, repaired, next_ms}. Skip: of the next page, -1 = this is the last one. Next_ms: the earliest timer that was
set, 0 = none.
Cost: O(skip + skip_timers + limit log N).
]]

--- @requires core/call, extended/settings, limits/rates, limits/concurrency_keys, queues/sessions, timers/served_slots

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read. The recurring jobs whose timers are furthest ahead come first.
local by_interval, all_sessions, timers = namespace_key("recurring"), sessions.sessions_key(), namespace_key("timers")
redis.call("EXISTS", meta, due, workers, by_interval, all_sessions, timers)
local ids = redis.call("ZREVRANGEBYSCORE", by_interval, "+inf", text_of(now_floor + served_slots.AHEAD_MS), "LIMIT", skip, limit)
local seen = redis.call("ZRANGEBYSCORE", workers, text_of(now_floor + served_slots.AHEAD_MS), "+inf", "LIMIT", 0, limit)
local late = redis.call("ZREVRANGEBYSCORE", timers, "+inf", text_of(now_floor + served_slots.AHEAD_MS), "WITHSCORES", "LIMIT", skip_timers, limit)
local known, ttrs = {}, {}
for i, id in ipairs(ids) do
  known[i] = redis.call("HMGET", named_key("R", id), "every", "first", "last", "skip_at")
end
for i, worker in ipairs(seen) do
  ttrs[i] = tonumber(redis.call("HGET", session_key(worker), "ttr") or nil)
end

-- Timers that are never set for much later than now.
local SOON = { B = true, N = true, U = true, Y = true }
-- Whether a timer comes too late. To run it early is harmless: it sets itself again. That of the held jobs of a key is for when its rate allows one.
local function is_late(timer, at)
  local name, number = string.match(timer, "^K((%d+):.*)$")
  if not name then
    return SOON[string.sub(timer, 1, 1)]
  end
  local set, key = settings.settings_of(tonumber(number)), concurrency_keys.concurrency_key_named(name, tonumber(number))
  return not set.krate or at > rates.allowed_at(set.krate, key.tat, key.called + 1) + served_slots.AHEAD_MS
end
local overdue = {}
for i = 1, #late, 2 do
  if is_late(late[i], tonumber(late[i + 1])) then
    overdue[#overdue + 1] = late[i]
  else
    skip_timers = skip_timers + 1
  end
end

-- Write.
local next_ms, repaired = math.huge, #seen + #overdue
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
for _, timer in ipairs(overdue) do
  -- guard: late-timers-run-now
  set(timer, now_floor)
end
if #seen > 0 then
  set("W", now_floor + tonumber(redis.call("HGET", namespace_key("settings"), "max_worker_age_ms") or 86400000))
end
if next_ms < math.huge then
  redis.call("ZADD", due, "LT", text_of(next_ms), EXTENDED_TIMERS)
end
local is_last = #ids < limit and #seen < limit and #late < 2 * limit
return { 0, now_floor, is_last and -1 or skip, skip_timers, repaired, next_ms < math.huge and next_ms or 0 }
