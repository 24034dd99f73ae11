-- The slots of a recurring job by cron: a text of Unix ms with commas, in order. Servers compute them ahead (commands/extended/set_slots).
--- @requires core/call
--- @exports slots_in, slots_text, fire_time

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

-- When the job of a slot is made: up to jitter_ms later. The delay depends on the id and the slot only, so that all servers agree.
function fire_time(id, slot, jitter_ms)
  if jitter_ms <= 0 then
    return slot
  end
  return slot + tonumber(string.sub(redis.sha1hex(id .. ":" .. text_of(slot)), 1, 12), 16) % jitter_ms
end
