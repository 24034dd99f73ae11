-- The first slot of a queue whose time is near; late: some of its jobs may be due already.
local function near_slot(number)
  local slot = redis.call("ZRANGEBYSCORE", queue_key("f", number), "-inf", now_floor, "LIMIT", 0, 1)[1]
  return slot, slot and slot * SLOT_MS <= now_floor
end

-- Its first entries, sorted out: those of jobs that still wait for it go to the zset of scheduled jobs.
local function open_slot(number, slot, quota)
  local key = slot_key(number, slot)
  local opened = { number = number, slot = slot, key = key, share = quota, members = {} }
  redis.call("EXISTS", key, queue_key("s", number), queue_key("f", number), queue_key("i", number))
  local entries = redis.call("LRANGE", key, 0, quota - 1)
  local ids = {}
  for i, entry in ipairs(entries) do
    ids[i] = string.sub(entry, 7, -2)
  end
  local values = read_values(ids)
  for i, entry in ipairs(entries) do
    local _, state, _, _, _, _, _, at, place = struct.unpack(HEADER, values[i] or NO_JOB)
    if state == SCHEDULED and at == number and place == string.byte(entry, -1) then
      opened.members[#opened.members + 1] = text_of((struct.unpack(">I6", entry)))
      opened.members[#opened.members + 1] = ids[i]
    end
  end
  opened.looked = #entries
  limit = limit - #entries
  return opened
end

local function write_opened(opened)
  redis.call("LTRIM", opened.key, opened.looked, -1)
  if opened.looked < opened.share then
    redis.call("ZREM", queue_key("f", opened.number), opened.slot)
  end
  if #opened.members > 0 then
    -- A job whose due time was changed has its new one there already.
    redis.call("ZADD", queue_key("s", opened.number), "NX", unpack(opened.members))
    redis.call("HINCRBY", queue_key("i", opened.number), "far", -#opened.members / 2)
  end
end
