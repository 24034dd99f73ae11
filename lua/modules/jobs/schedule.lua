-- Scheduled jobs (ADR 12). Near ones are in a zset by due time. A job that is due later, and whose id was never in
-- use, costs a third of that in the list of a slot of time: entries of due time (48 bits), id and entry number 0. The pump moves the jobs
-- of a slot to the zset before they are due.
--- @requires core/call, core/header, core/values
--- @exports SLOT_MS, LEAD_MS, slot_key, touch_schedule, schedule_job, write_schedule, near_slot, open_slot, write_opened, due_in_entry

-- How long a slot is, and how long before its begin its jobs are moved, ms.
SLOT_MS, LEAD_MS = 262144, 60000

function slot_key(number, slot)
  return queue_key("f", number) .. ":" .. slot
end

-- What is due later than this is far, ms.
local FAR_MS = 600000
local near, far = {}, {}

-- Touches what schedule_job will write. is_fresh: the id was never in use. Returns the slot, nil if the job is near.
function touch_schedule(number, due_ms, is_fresh)
  local slot = is_fresh and due_ms - now_ceil > FAR_MS and math.floor(due_ms / SLOT_MS) or nil
  redis.call("EXISTS", queue_key("s", number), queue_key("f", number), slot and slot_key(number, slot) or meta_key)
  return slot
end

-- When the job of an entry of a far slot is due, Unix ms.
function due_in_entry(entry)
  return (struct.unpack(">I6", entry))
end

function schedule_job(number, id, due_ms, slot)
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

function write_schedule(due)
  for number, members in pairs(near) do
    redis.call("ZADD", queue_key("s", number), unpack(members))
    redis.call("ZADD", due, "LT", members.first, number)
  end
  for key, to in pairs(far) do
    -- guard: far-slot-opens-early
    local opens_ms = to.slot * SLOT_MS - LEAD_MS
    redis.call("RPUSH", key, unpack(to.entries))
    redis.call("ZADD", queue_key("f", to.number), opens_ms, to.slot)
    redis.call("HINCRBY", queue_key("i", to.number), "far", #to.entries)
    redis.call("ZADD", due, "LT", opens_ms, to.number)
  end
end

-- The first slot of a queue that is to be opened, nil if there is none; and true if some of its jobs may be due already.
function near_slot(number)
  local slot = redis.call("ZRANGEBYSCORE", queue_key("f", number), "-inf", now_floor, "LIMIT", 0, 1)[1]
  return slot, slot and slot * SLOT_MS <= now_floor
end

-- Reads up to `share` entries of a slot. Those of jobs that still wait for it go to the zset of their path.
function open_slot(number, slot, share)
  local key = slot_key(number, slot)
  local opened = { number = number, slot = slot, key = key, share = share, members = {}, extended = {} }
  redis.call("EXISTS", key, queue_key("s", number), queue_key("f", number), queue_key("i", number), queue_key("S", number), namespace_key("timers"))
  local entries = redis.call("LRANGE", key, 0, --[[ guard: slot-opened-in-steps ]] share - 1)
  local ids = {}
  for i, entry in ipairs(entries) do
    ids[i] = string.sub(entry, 7, -2)
  end
  local values = read_values(ids)
  for i, entry in ipairs(entries) do
    local _, state, flags, _, _, _, _, at, place = struct.unpack(HEADER, values[i] or NO_JOB)
    -- guard: far-entry-without-a-job-is-dropped
    if state == SCHEDULED and at == number and --[[ guard: far-entry-checks-life ]] place == string.byte(entry, -1) then
      local members = --[[ guard: far-extended-job-opens-extended ]] flags % 4 >= EXTENDED and opened.extended or opened.members
      members[#members + 1] = text_of(due_in_entry(entry))
      members[#members + 1] = ids[i]
    end
  end
  opened.looked = #entries
  return opened
end

local function move_near(opened, kind, members)
  if #members > 0 then
    -- A job whose due time was changed has its new one there already.
    redis.call("ZADD", queue_key(kind, opened.number), "NX", unpack(members))
    redis.call("HINCRBY", queue_key("i", opened.number), "far", -#members / 2)
  end
end

-- Moves what open_slot found: simple jobs to their zset, those that became extended meanwhile to that of the extended path.
function write_opened(opened, due)
  redis.call("LTRIM", opened.key, opened.looked, -1)
  if opened.looked < opened.share then
    redis.call("ZREM", queue_key("f", opened.number), opened.slot)
  end
  move_near(opened, "s", opened.members)
  move_near(opened, "S", opened.extended)
  if #opened.extended > 0 then
    local first = redis.call("ZRANGE", queue_key("S", opened.number), 0, 0, "WITHSCORES")[2]
    redis.call("ZADD", namespace_key("timers"), "LT", first, "S" .. opened.number)
    redis.call("ZADD", due, "LT", first, EXTENDED_TIMERS)
  end
end
