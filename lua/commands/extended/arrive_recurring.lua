--[[
Store a recurring job that has come from another Redis, and go on with its slots.

KEYS meta, due
ARGV clock_ms, deadline_ms, id, handover
ITEM field, value
handover: text  the name of its way

The items are all that is stored of it.
Returns {status, now_ms, code, next_ms}. Code: 0 stored, 1 it had come before, 2 it was removed since, 3 it goes on where it was. Next_ms: when its
timer runs, 0 = it does not.
Cost: O(log N).
]]

--- @adds
--- @requires core/call, core/handovers, limits/recurring_bytes, timers/cron_slots, timers/recurring_timer

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
if redis.call("EXISTS", meta) == 0 then
  return { 2, now_floor }
end

-- Read.
local key, all = named_key("R", id), namespace_key("schedules")
redis.call("EXISTS", key, all, handover_key(handover))
recurring_timer.touch_recurring_timer(due)
if --[[ guard: recurring-job-arrives-once ]] redis.call("HGET", key, "from") == handover then
  return { 0, now_floor, 1, 0 }
end
local refused = redis.call("GET", handover_key(handover))
if --[[ guard: removed-recurring-job-does-not-arrive ]] refused then
  return { 0, now_floor, refused == "removed" and 2 or 3, 0 }
end
local x, fields = {}, { "from", handover }
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  if ARGV[i] ~= "leaving" and ARGV[i] ~= "from" then
    x[ARGV[i]] = ARGV[i + 1]
    fields[#fields + 1], fields[#fields + 2] = ARGV[i], ARGV[i + 1]
  end
end
local is_cron, runs = x.every == "0", nil
if x.paused ~= "1" and is_cron then
  runs = cron_slots.next_cron_run(id, x.slots, x.jitter, x.complete)
elseif x.paused ~= "1" then
  runs = tonumber(x.next)
end

-- Write.
recurring_bytes.uncount_recurring(key)
redis.call("DEL", key)
redis.call("HSET", key, unpack(fields))
if x.counted then -- Never refused: it was stored before.
  redis.call("HINCRBY", meta, "bytes", x.counted)
end
redis.call("ZADD", all, 0, id)
return { 0, now_floor, 0, recurring_timer.set_recurring_timer(due, id, is_cron, runs) }
