--[[
End the way of a recurring job to another Redis: remove it here, as it is there; or let it go on here, as it is not.

KEYS meta, due
ARGV clock_ms, deadline_ms, id, handover, verb
handover: text  the name of its way: nothing happens to one that has another
verb: text      remove; keep: it goes on here; refuse: it must not come here by this way any more, unless it has

Returns {status, now_ms, code, next_ms}. Code: 1 done, 0 it is not on this way; for refuse: 0 it has come. Next_ms: when its timer runs, 0 = it does
not.
Cost: O(log N).
]]

--- @adds
--- @requires core/call, core/handovers, limits/recurring_bytes, timers/cron_slots

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local key, all, timers = named_key("R", id), namespace_key("schedules"), namespace_key("timers")
local by_interval, by_cron = namespace_key("recurring"), namespace_key("cron")
local x = redis.call("HMGET", key, "leaving", "from", "every", "next", "paused", "slots", "jitter", "complete")
redis.call("EXISTS", meta, due, all, timers, by_interval, by_cron, handover_key(handover))
if verb == "refuse" then
  if x[2] == handover then
    return { 0, now_floor, 0, 0 }
  end
  refuse_handover(handover, "kept")
  return { 0, now_floor, 1, 0 }
end
if x[1] ~= handover then
  return { 0, now_floor, 0, 0 }
end

-- Write.
if verb == "remove" then
  if x[2] then
    refuse_handover(x[2], "removed")
  end
  uncount_recurring(key)
  redis.call("DEL", key)
  redis.call("ZREM", all, id)
  return { 0, now_floor, 1, 0 }
end
redis.call("HDEL", key, "leaving")
local is_cron, runs = x[3] == "0", tonumber(x[4])
if is_cron then
  runs = next_timer(id, slots_in(x[6]), tonumber(x[7] or 0), x[8] == "1") or x[8] ~= "1" and now_ceil or nil
end
if x[5] == "1" or not runs then
  return { 0, now_floor, 1, 0 }
end
redis.call("ZADD", is_cron and by_cron or by_interval, text_of(runs), id)
redis.call("ZADD", timers, "LT", text_of(runs), is_cron and "C" or "R")
redis.call("ZADD", due, "LT", text_of(runs), EXTENDED_TIMERS)
return { 0, now_floor, 1, runs }
