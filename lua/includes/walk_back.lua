-- Indexes of job lists read from their end: what walk, walk_list and walk_far find, in the opposite order.

local function backwards(found)
  for i = 1, math.floor(#found / 2) do
    found[i], found[#found - i + 1] = found[#found - i + 1], found[i]
  end
  return found
end

-- Like walk_on; at "" = from the end, or from the last member whose score is at most `to`.
local function walk_on_back(key, at, id, n, number, kind, to)
  local rank = at == "" and redis.call("ZCOUNT", key, "-inf", to and text_of(to) or "+inf") or rank_behind(key, at, id)
  if at ~= "" and rank > 0 and redis.call("ZRANGE", key, rank - 1, rank - 1)[1] == id then
    rank = rank - 1
  end
  if rank == 0 then
    return {}
  end
  return backwards(members_in(key, math.max(rank - n, 0), rank - 1, number, kind))
end

-- Like walk_list. A place counts from the end of the list, where jobs come and tombstones are taken out: the reader looks for the id that was there on
-- both sides. If it is gone, the list is read from its end again: a job may come twice, but none is left out.
local function place_before(key, at, id)
  local first, last = at - MOST_BACK, at + MOST_BACK
  for from = at, first, -LOOK_BACK do
    local entries = redis.call("LRANGE", key, from - LOOK_BACK + 1, from)
    for i = #entries, 1, -1 do
      if string.sub(entries[i], 1, -2) == id then
        return from - #entries + i - 1
      end
    end
    if #entries < LOOK_BACK then
      break
    end
  end
  for from = at + 1, math.min(last, -1), LOOK_BACK do
    local to = math.min(from + LOOK_BACK - 1, -1)
    local entries = redis.call("LRANGE", key, from, to)
    for i, entry in ipairs(entries) do
      if string.sub(entry, 1, -2) == id then
        return to - #entries + i - 1
      end
    end
  end
  return -1
end

local function walk_list_back(key, at, id, n, number)
  local last, found, looked, entries = at == "" and -1 or place_before(key, tonumber(at), id), {}, 0, nil
  repeat
    entries = redis.call("LRANGE", key, last - n + 1, last)
    for i = #entries, 1, -1 do
      local entry, place = entries[i], last - #entries + i
      local one = string.sub(entry, 1, -2)
      local job = entry ~= "" and read_job(one)
      if entry ~= "" or looked + #entries - i >= MOST_BLANKS then
        found[#found + 1] = { is_live_entry(job, entry, number) and job or false, one, text_of(place), one }
      end
    end
    last, looked = last - #entries, looked + #entries
  until #found > 0 or #entries < n
  return found, #entries < n
end

-- Like walk_far. The place is the slot and the number of the entry that was read last, from 1: jobs come behind it only.
local function walk_far_back(_, at, id, n, number)
  local function slot_before(score)
    return redis.call("ZREVRANGEBYSCORE", queue_key("f", number), score, "-inf", "LIMIT", 0, 1)[1]
  end
  local slot, found = at ~= "" and at or slot_before("+inf"), {}
  local last = at ~= "" and tonumber(id) - 1 or slot and redis.call("LLEN", slot_key(number, slot))
  while slot and #found < n do
    local first = math.max(last - n + #found, 0)
    local entries = last > 0 and redis.call("LRANGE", slot_key(number, slot), first, last - 1) or {}
    for i = #entries, 1, -1 do
      found[#found + 1] = far_place(slot, entries[i], first + i, number)
    end
    last = first
    if last == 0 then
      slot = slot_before("(" .. text_of(slot * SLOT_MS - LEAD_MS))
      last = slot and redis.call("LLEN", slot_key(number, slot))
    end
  end
  return found
end
