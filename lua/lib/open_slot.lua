-- The first slot of a queue whose time is near; late: some of its jobs may be due already.
local function near_slot(number)
  local slot = redis.call("ZRANGEBYSCORE", queue_key("f", number), "-inf", now_floor, "LIMIT", 0, 1)[1]
  return slot, slot and slot * SLOT_MS <= now_floor
end

-- Its first entries, sorted out: those of jobs that still wait for it go to the zset of scheduled jobs.
local function open_slot(number, slot, quota)
  local key = slot_key(number, slot)
  local opened = { number = number, slot = slot, key = key, share = quota, members = {}, rich = {} }
  redis.call("EXISTS", key, queue_key("s", number), queue_key("f", number), queue_key("i", number), queue_key("S", number), space_key("timers"))
  local entries = redis.call("LRANGE", key, 0, quota - 1)
  local ids = {}
  for i, entry in ipairs(entries) do
    ids[i] = string.sub(entry, 7, -2)
  end
  local values = read_values(ids)
  for i, entry in ipairs(entries) do
    local _, state, flags, _, _, _, _, at, place = struct.unpack(HEADER, values[i] or NO_JOB)
    if state == SCHEDULED and at == number and place == string.byte(entry, -1) then
      local members = flags % 4 >= RICH and opened.rich or opened.members
      members[#members + 1] = text_of((struct.unpack(">I6", entry)))
      members[#members + 1] = ids[i]
    end
  end
  opened.looked = #entries
  limit = limit - #entries
  return opened
end
