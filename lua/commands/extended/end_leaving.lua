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

--- @requires core/call, core/handovers, limits/recurring_bytes, timers/cron_slots, timers/recurring_timer

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local key, all = named_key("R", id), namespace_key("schedules")
local x = redis.call("HMGET", key, "leaving", "from", "every", "next", "paused", "slots", "jitter", "complete")
redis.call("EXISTS", all, handover_key(handover))
recurring_timer.touch_recurring_timer(due)
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
  recurring_bytes.uncount_recurring(key)
  redis.call("DEL", key)
  redis.call("ZREM", all, id)
  return { 0, now_floor, 1, 0 }
end
redis.call("HDEL", key, "leaving")
local is_cron, runs = x[3] == "0", tonumber(x[4])
if is_cron then
  runs = cron_slots.next_cron_run(id, x[6], x[7], x[8])
end
return { 0, now_floor, 1, recurring_timer.set_recurring_timer(due, id, is_cron, x[5] ~= "1" and runs or nil) }
