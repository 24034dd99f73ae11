-- The slots of a recurring job by cron: a text of Unix ms with commas, in order. Servers compute them ahead (commands/extended/set_slots).
--- @requires core/call
--- @exports slots_in, slots_text, fire_time, next_timer, next_cron_run, FEW_SLOTS

function slots_in(text)
  local slots = {}
  for slot in string.gmatch(text or "", "%d+") do
    slots[#slots + 1] = tonumber(slot)
  end
  return slots
end

-- first: the first of the slots to keep.
function slots_text(slots, first)
  local texts = {}
  for i = first, #slots do
    texts[#texts + 1] = text_of(slots[i])
  end
  return table.concat(texts, ",")
end

-- So many slots that have passed wait for their jitter at once: of more, the oldest one waits no longer.
local MOST_WAITING = 64

-- When the job of slots[n] is made: up to jitter_ms after the slot. The delay depends on the id and the slot only, so that all servers agree.
function fire_time(id, slots, n, jitter_ms)
  local slot, behind = slots[n], slots[n + MOST_WAITING]
  if jitter_ms <= 0 then
    return slot
  end
  local fires = slot + tonumber(string.sub(redis.sha1hex(id .. ":" .. text_of(slot)), 1, 12), 16) % jitter_ms
  return --[[ guard: jittered-slots-are-bounded ]] behind and math.min(fires, behind) or fires
end

-- So many slots to come are left when a server is asked for more.
FEW_SLOTS = 8

-- When the timer is to run: for the first job, or to ask for more slots; nil = there is no slot. With a jitter a later slot may come before an earlier one.
function next_timer(id, slots, jitter_ms, is_complete)
  local first = --[[ guard: slots-are-computed-during-jitter ]] not is_complete and slots[#slots - FEW_SLOTS] or nil
  for n = 1, #slots do
    if first and slots[n] >= first then
      break
    end
    local fires = fire_time(id, slots, n, jitter_ms)
    first = first and math.min(first, fires) or fires
  end
  return first
end

-- The same for a recurring job that is not paused, by what is stored of it. Without a slot that is known its timer asks for more.
function next_cron_run(id, slots, jitter_ms, complete)
  return next_timer(id, slots_in(slots), tonumber(jitter_ms or 0), complete == "1") or complete ~= "1" and now_ceil or nil
end
