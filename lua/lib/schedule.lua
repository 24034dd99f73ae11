-- Where scheduled jobs are kept. Near ones: a zset by due time. What is far off, and whose id never lived before, costs a third of that
-- in a list for its slot of time: entries of due time (48 bits), id and entry number. The pump moves a slot near before it is due.
local FAR_MS, near, far = 600000, {}, {}

-- Touches what schedule_job will write; returns the slot if it is a far one.
local function touch_schedule(number, due_ms, is_fresh)
  local slot = is_fresh and due_ms - now_ceil > FAR_MS and math.floor(due_ms / SLOT_MS) or nil
  redis.call("EXISTS", queue_key("s", number), queue_key("f", number), slot and slot_key(number, slot) or meta)
  return slot
end

local function schedule_job(number, id, due_ms, slot)
  if slot then
    local key = slot_key(number, slot)
    far[key] = far[key] or { number = number, slot = slot, entries = {} }
    table.insert(far[key].entries, struct.pack(">I6", due_ms) .. id .. "\0")
  else
    local members = near[number] or { first = due_ms }
    near[number], members.first = members, math.min(members.first, due_ms)
    members[#members + 1], members[#members + 2] = text_of(due_ms), id
  end
end

local function write_schedule()
  for number, members in pairs(near) do
    redis.call("ZADD", queue_key("s", number), unpack(members))
    redis.call("ZADD", due, "LT", members.first, number)
  end
  for key, to in pairs(far) do
    local opens_ms = to.slot * SLOT_MS - LEAD_MS
    redis.call("RPUSH", key, unpack(to.entries))
    redis.call("ZADD", queue_key("f", to.number), opens_ms, to.slot)
    redis.call("HINCRBY", queue_key("i", to.number), "far", #to.entries)
    redis.call("ZADD", due, "LT", opens_ms, to.number)
  end
end
