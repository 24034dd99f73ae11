local earliest = math.huge

-- Plans for up to a share of what is due in a zset. Returns the ids.
local function plan_due(kind, number, name, share)
  local key = queue_key(kind, number)
  local ids = redis.call("ZRANGEBYSCORE", key, "-inf", now_floor, "LIMIT", 0, math.min(share, limit))
  limit = limit - #ids
  for i, value in ipairs(read_values(ids)) do
    plan_move(kind, number, name, ids[i], value)
  end
  local first = #ids > 0 and redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2] or earliest
  earliest = math.min(earliest, tonumber(first))
  return ids
end

local function plan_queue(number, share)
  local name = redis.call("HGET", queue_key("i", number), "name")
  local slot, is_late = near_slot(number)
  local step = { number = number, scheduled = {}, leased = {} }
  -- A late slot goes first and alone, or what was due in it would stand behind what was due later.
  if not is_late then
    step.scheduled = plan_due("s", number, name, share)
    step.leased = plan_due("l", number, name, share * 2 - #step.scheduled)
  end
  -- Within its share: a slot of a million must not keep other queues waiting.
  local quota = math.min(limit, share * 2 - #step.scheduled - #step.leased)
  step.opened = slot and quota > 0 and open_slot(number, slot, quota)
  return step
end
