--[[
Store a recurring job, or change it. It keeps its slots and its count unless its schedule changes. A full Redis refuses one that is new or longer.

KEYS meta, due
ARGV clock_ms, deadline_ms, id, revision, schedule, every_ms, first_ms, offset_ms, fields, body, needs, new_slots, complete, jitter, tzdata, most_bytes
revision: text      the one that is changed; "" = any, also a new recurring job; "new" = there must be none
schedule: text      JSON, as it was given
every_ms: integer   between two slots; 0 = its slots are those of a cron expression
first_ms: text      the first slot, Unix ms; "" = offset_ms from now
offset_ms: integer  see first_ms
fields: text        JSON, stored with it: template, options (as in extended/publish), queue, backlog, skips_late and paused ("1" or "0"), catch_up,
                    overlap, note. Without paused, it and its note stay
body: text          the data of its jobs
needs: text         what they depend on, as in extended/publish
new_slots: text     of a cron expression: its next slots, as in timers/cron_slots
complete: text      1 = there are no more after these
jitter: text        of a cron expression: see timers/cron_slots
tzdata: text        the version of the time zones that the slots were computed with

Returns {status, now_ms, code, next_ms}. Code: 0 stored, 1 there is none, 2 it has another revision by now, 3 it would go beyond the quota (next_ms
says how many bytes there are). Next_ms: when to run its timer, 0 = it is paused, or has no slot left.
Cost: O(log N).
]]

--- @requires core/call, limits/store_room, limits/recurring_bytes, timers/cron_slots, timers/served_slots, timers/recurring_timer

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

if redis.call("EXISTS", meta) == 0 then
  return { 2, now_floor }
end

-- Read.
local key, all = named_key("R", id), namespace_key("schedules")
local known = redis.call("HMGET", key, "revision", "schedule", "first", "next", "last", "paused", "slots", "complete", "tzdata", "counted", "note")
-- Together: a key of a slot that moves to another node is not taken for one that does not exist.
redis.call("EXISTS", meta, key, all)
recurring_timer.touch_recurring_timer(due)
if revision ~= "" and --[[ guard: recurring-change-names-its-revision ]] (known[1] or "new") ~= revision then
  return { 0, now_floor, known[1] and 2 or 1, 0 }
end

local stored = cjson.decode(fields)
if not stored.paused then
  stored.paused = --[[ guard: replacement-keeps-the-pause ]] known[6] or "0"
  stored.note = stored.paused == "1" and (stored.note or known[11]) or ""
end
local grows = not known[1] or #body > redis.call("HSTRLEN", key, "body") or #stored.template > redis.call("HSTRLEN", key, "template")
  or #needs > redis.call("HSTRLEN", key, "needs")
if grows and --[[ guard: recurring-set-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
-- While there is a quota on bytes it counts, and goes on counting.
local counted, growth = nil, 0
if most_bytes > 0 or known[10] then
  counted = recurring_bytes(function(field)
    return #(field == "schedule" and schedule or field == "body" and body or field == "needs" and needs or stored[field] or "")
  end)
  growth = counted - (known[10] or 0)
end
if grows and growth > 0 and most_bytes > 0 then
  local present = tonumber(redis.call("HGET", meta, "bytes") or 0)
  if --[[ guard: recurring-within-quota ]] present + growth > most_bytes then
    return { 0, now_floor, 3, present }
  end
end
local is_same = known[2] == schedule and known[6] == "0"

-- Slots that have come, and wait for their jitter or a server: other bounds or another jitter drop only those that the bounds leave out.
local function waiting_slots()
  local old, new, waiting = known[2] and cjson.decode(known[2]) or {}, cjson.decode(schedule), {}
  if known[6] == "0" and old.cron == new.cron and old.timeZone == new.timeZone then
    for _, at in ipairs(cron_slots.slots_in(known[7])) do
      local is_within = at <= now_ceil and at >= (new.startAtMs or 0) and at < (new.endAtMs or math.huge)
      waiting[#waiting + 1] = --[[ guard: waiting-slots-survive-new-bounds ]] is_within and at or nil
    end
  end
  return waiting
end

local first, slot, runs
if every_ms == 0 then
  -- Slots that were served do not come again. Those that are stored were not: with a jitter, later ones may have been.
  local served = --[[ guard: jittered-slots-survive-a-change ]] is_same and 0 or tonumber(known[5] or 0)
  local slots, from = cron_slots.slots_in(is_same and known[7] or new_slots), 1
  if served_slots.is_ahead(served, now_ceil, slots[2] and slots[2] - now_ceil or math.huge) then
    served = 0
  end
  if is_same then
    complete, tzdata = known[8], known[9]
  end
  local waiting = is_same and {} or waiting_slots()
  served = math.max(served, waiting[#waiting] or 0)
  while slots[from] and slots[from] <= --[[ guard: cron-served-slot-once ]] served do
    from = from + 1
  end
  for i = from, #slots do
    waiting[#waiting + 1] = slots[i]
  end
  new_slots, slot = cron_slots.slots_text(waiting, 1), waiting[1]
  runs = cron_slots.next_cron_run(id, new_slots, jitter, complete)
else
  first = known[2] == schedule and known[3] or first_ms ~= "" and first_ms or text_of(now_ceil + offset_ms)
  slot = is_same and tonumber(known[4])
  if not slot then
    -- The first one that has not passed, and was not served.
    local last = tonumber(known[5] or 0)
    slot = served_slots.slot_after(tonumber(first), every_ms, --[[ guard: recurring-set-serves-once ]] math.max(now_ceil - 1, served_slots.is_ahead(last, now_ceil, every_ms) and 0 or last))
  end
  runs = slot
end

-- Write.
for field, value in pairs(stored) do
  redis.call("HSET", key, field, value)
end
redis.call("HSET", key, "schedule", schedule, "every", every_ms, "next", slot and text_of(slot) or "", "body", body, "needs", needs)
if every_ms == 0 then
  redis.call("HSET", key, "slots", new_slots, "complete", complete, "jitter", jitter, "tzdata", tzdata)
  redis.call("HDEL", key, "first")
else
  redis.call("HSET", key, "first", first)
  redis.call("HDEL", key, "slots", "complete", "jitter", "tzdata")
end
redis.call("HINCRBY", key, "revision", 1)
if counted then
  redis.call("HSET", key, "counted", counted)
  redis.call("HINCRBY", meta, "bytes", growth)
end
if not known[1] then
  redis.call("HSET", key, "made", 0, "skipped", 0, "created", text_of(now_floor))
end
redis.call("ZADD", all, 0, id)
return { 0, now_floor, 0, recurring_timer.set_recurring_timer(due, id, every_ms == 0, stored.paused ~= "1" and runs or nil) }
