--[[
Store more slots of a recurring job by cron, which a server has computed. Servers that compute at the same time store them once.

KEYS meta, due
ARGV clock_ms, deadline_ms, id, revision, after, new_slots, complete, skipped, tzdata, replaces
revision: text    of the recurring job that they were computed for
after: text       the last slot that it had then, or that it served last, Unix ms; "" = none
new_slots: text   the slots behind it, as in timers/cron_slots
complete: text    1 = there are no more after these
skipped: integer  slots between after and the first of these, which have passed and are left out
tzdata: text      the version of the time zones that they were computed with
replaces: text    1 = they replace all slots that have not come yet, unless those were computed with newer time zones

Returns {status, now_ms, stored, next_ms}. Stored: 1, or 0: it was changed, paused or removed meanwhile, another server was first, or the time zones
are too old. Next_ms: when to run its timer, 0 = no slot is left.
Cost: O(log N).
]]

--- @requires core/call, timers/cron_slots, timers/recurring_timer

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local key = named_key("R", id)
local known = redis.call("HMGET", key, "revision", "slots", "last", "paused", "jitter", "tzdata")
recurring_timer.touch_recurring_timer(due)
local slots, last = cron_slots.slots_in(known[2]), known[3] or ""
local end_of_known = #slots > 0 and text_of(slots[#slots]) or last
if --[[ guard: cron-slots-of-revision ]] known[1] ~= revision or known[4] ~= "0" or end_of_known ~= after then
  return { 0, now_floor, 0, 0 }
end
local known_tzdata = known[6] or ""
-- guard: cron-newer-zones-stay
if replaces == "1" and known_tzdata > tzdata then
  return { 0, now_floor, 0, 0 }
elseif replaces ~= "1" and known_tzdata < tzdata then
  -- The oldest version of all slots: so those are computed again.
  -- guard: cron-oldest-zones-version
  tzdata = known_tzdata
end

-- It may have been served since it was computed.
local served = replaces == "1" and tonumber(last ~= "" and last or 0) or 0
served = served <= now_floor and served or 0
local all = {}
for _, slot in ipairs(slots) do
  if replaces ~= "1" or slot <= now_floor then
    all[#all + 1] = slot
  end
end
for _, slot in ipairs(cron_slots.slots_in(new_slots)) do
  -- guard: cron-slot-stored-once
  if slot > (all[#all] or 0) then
    -- guard: served-slot-is-not-added-again
    if slot > served then
      all[#all + 1] = slot
    end
  end
end
local runs = cron_slots.next_timer(id, all, tonumber(known[5] or "0"), complete == "1")

-- Write.
redis.call("HSET", key, "slots", cron_slots.slots_text(all, 1), "complete", complete, "tzdata", tzdata, "next", all[1] and text_of(all[1]) or "")
if replaces == "1" and tonumber(last ~= "" and last or 0) > now_floor then -- It was served while Redis's clock was ahead.
  redis.call("HSET", key, "last", text_of(now_floor))
end
if skipped > 0 then
  redis.call("HINCRBY", key, "skipped", skipped)
  redis.call("HSET", key, "skip_at", text_of(all[1] or now_floor), "skip_reason", "max_catch_up")
end
return { 0, now_floor, 1, recurring_timer.set_recurring_timer(due, id, true, runs) }
