-- Jobs that are scheduled far ahead (jobs/schedule): slot by slot, in each by publish. The place is the slot and how many entries of its list were read.
local function next_slot(number, slot)
  return redis.call("ZRANGEBYSCORE", queue_key("f", number), "(" .. text_of(slot * SLOT_MS - LEAD_MS), "+inf", "LIMIT", 0, 1)[1]
end

local function far_place(slot, entry, at, number)
  local one = string.sub(entry, 7, -2)
  local job = read_job(one)
  local stands = job and job.state == SCHEDULED and job.queue == number and job.entry == string.byte(entry, -1)
  local is_near = stands and redis.call("ZSCORE", queue_key("s", number), one)
  return { stands and not is_near and job or false, one, slot, text_of(at) }
end

local function walk_far(_, at, id, n, number)
  local slot, first, found = at ~= "" and at or next_slot(number, 0), at ~= "" and tonumber(id) or 0, {}
  while slot and #found < n do
    for i, entry in ipairs(redis.call("LRANGE", slot_key(number, slot), first, first + n - #found - 1)) do
      found[#found + 1] = far_place(slot, entry, first + i, number)
    end
    slot, first = next_slot(number, slot), 0
  end
  return found
end
