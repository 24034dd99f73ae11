-- Indexes of job lists, read in steps from their beginning or their end. A place is where the last step ended.
--- @requires core/call, core/header, jobs/schedule, queues/ranks, queues/type_keys, extended/indexes
--- @exports walk_index

-- The members from a rank to another one: the job (false if it is not in this index), its id, and the place.
local function members_in(key, first, last, number, kind)
  local found, members = {}, redis.call("ZRANGE", key, first, last, "WITHSCORES")
  for i = 1, #members, 2 do
    local job = read_job(members[i])
    local stands = job and (not number or job.queue == number and (string.find("pDQ", kind, 1, true) and job.state == READY or string.lower(indexes.kind_of(job) or "") == string.lower(kind)))
    found[#found + 1] = { stands and job or false, members[i], members[i + 1], members[i] }
  end
  return found
end

-- Up to n members behind a place.
local function walk_on(key, at, id, n, number, kind)
  local rank = ranks.rank_behind(key, at, id)
  return members_in(key, rank, rank + n - 1, number, kind)
end

-- The ready list of a queue. A place in it moves when entries before it are taken, by workers or by a sweep, so the reader looks for the id that was there:
-- near where it was, towards the head. If it is gone, all entries before it are gone too, and the head has not been read. If it has moved too far, it is
-- read again, with those before it.
local LOOK_BACK, MOST_BACK = 2000, --[[ guard: lists-look-back-behind-a-sweep ]] 20000

local function place_behind(key, at, id)
  local last = at
  -- Mostly nothing has been taken since.
  if id ~= "" and string.sub(redis.call("LRANGE", key, at, at)[1] or "", 1, -2) == id then
    return at + 1
  end
  while id ~= "" and last >= 0 and at - last < MOST_BACK do
    local first = math.max(last - LOOK_BACK + 1, 0)
    local entries = redis.call("LRANGE", key, first, last)
    for i = #entries, 1, -1 do
      -- guard: walk-follows-moved-entry
      if string.sub(entries[i], 1, -2) == id then
        return first + i
      end
    end
    last = first - 1
  end
  return id == "" and at + 1 or 0
end

-- Tombstones are no places: there may be many, and all are equal. Also returns whether this is the end of the list.
local MAX_TOMBSTONES = 10000
local function walk_list(key, at, id, n, number)
  local first, found, looked = at == "" and 0 or place_behind(key, tonumber(at), id), {}, 0
  local entries
  repeat
    entries = redis.call("LRANGE", key, first, first + n - 1)
    for i, entry in ipairs(entries) do
      local one = string.sub(entry, 1, -2)
      local job = entry ~= "" and read_job(one)
      if entry ~= "" or looked + i >= MAX_TOMBSTONES then
        found[#found + 1] = { is_live_entry(job, entry, number) and job or false, one, text_of(first + i - 1), one }
      end
    end
    first, looked = first + #entries, looked + #entries
  until #found > 0 or #entries < n
  return found, #entries < n
end

-- Jobs that are scheduled far ahead (jobs/schedule): slot by slot, in each by publish. The place is the slot and how many entries of its list were read; the
-- fifth value is when the job is due.
local function next_slot(number, slot)
  return redis.call("ZRANGEBYSCORE", queue_key("f", number), "(" .. text_of(slot * schedule.SLOT_MS - schedule.LEAD_MS), "+inf", "LIMIT", 0, 1)[1]
end

local function far_place(slot, entry, at, number)
  local one = string.sub(entry, 7, -2)
  local job = read_job(one)
  local stands = job and job.state == SCHEDULED and job.queue == number and job.entry == string.byte(entry, -1)
  local is_near = stands and redis.call("ZSCORE", queue_key("s", number), one)
  return { stands and not is_near and job or false, one, slot, text_of(at), text_of(schedule.due_in_entry(entry)) }
end

local function walk_far(_, at, id, n, number)
  local slot, first, found = at ~= "" and at or next_slot(number, 0), at ~= "" and tonumber(id) or 0, {}
  while slot and #found < n do
    for i, entry in ipairs(redis.call("LRANGE", schedule.slot_key(number, slot), first, first + n - #found - 1)) do
      found[#found + 1] = far_place(slot, entry, first + i, number)
    end
    slot, first = next_slot(number, slot), 0
  end
  return found
end

-- From the end: what walk_on, walk_list and walk_far find, in the opposite order.
local function backwards(found)
  for i = 1, math.floor(#found / 2) do
    found[i], found[#found - i + 1] = found[#found - i + 1], found[i]
  end
  return found
end

-- Like walk_on; at "" = from the end, or from the last member whose score is at most `to`.
local function walk_on_back(key, at, id, n, number, kind, to)
  local rank = at == "" and redis.call("ZCOUNT", key, "-inf", to and text_of(to) or "+inf") or ranks.rank_behind(key, at, id)
  if at ~= "" and rank > 0 and redis.call("ZRANGE", key, rank - 1, rank - 1)[1] == id then
    rank = rank - 1
  end
  if rank == 0 then
    return {}
  end
  return backwards(members_in(key, math.max(rank - n, 0), rank - 1, number, kind))
end

-- Like walk_list. A place counts from the end of the list, where jobs come and tombstones are taken out: the reader looks for the id that was there on
-- both sides, from where it was. If it is gone, the list is read from its end again: a job may come twice, but none is left out. It is gone in each step
-- while a sweep follows the jobs that leave the list from its end (queues/adoption).
local FIRST_WINDOW, MOST_AWAY = 50, 5000

local function find_entry(key, first, last, id)
  local entries = redis.call("LRANGE", key, first, last)
  for i = #entries, 1, -1 do
    if string.sub(entries[i], 1, -2) == id then
      return last - #entries + i
    end
  end
end

local function place_before(key, at, id)
  local head, tail, window = at, at, FIRST_WINDOW
  local found = find_entry(key, at, at, id)
  while not found and at - head < MOST_AWAY do
    local to = math.min(tail + window, -1)
    found = tail < to and find_entry(key, tail + 1, to, id) or find_entry(key, head - window, head - 1, id)
    head, tail, window = head - window, to, window * 2
  end
  return (found or 0) - 1
end

local function walk_list_back(key, at, id, n, number)
  local last, found, looked = at == "" and -1 or place_before(key, tonumber(at), id), {}, 0
  local entries
  repeat
    entries = redis.call("LRANGE", key, last - n + 1, last)
    for i = #entries, 1, -1 do
      local entry, place = entries[i], last - #entries + i
      local one = string.sub(entry, 1, -2)
      local job = entry ~= "" and read_job(one)
      if entry ~= "" or looked + #entries - i >= MAX_TOMBSTONES then
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
  local last = at ~= "" and tonumber(id) - 1 or slot and redis.call("LLEN", schedule.slot_key(number, slot))
  while slot and #found < n do
    local first = math.max(last - n + #found, 0)
    local entries = last > 0 and redis.call("LRANGE", schedule.slot_key(number, slot), first, last - 1) or {}
    for i = #entries, 1, -1 do
      found[#found + 1] = far_place(slot, entries[i], first + i, number)
    end
    last = first
    if last == 0 then
      slot = slot_before("(" .. text_of(slot * schedule.SLOT_MS - schedule.LEAD_MS))
      last = slot and redis.call("LLEN", schedule.slot_key(number, slot))
    end
  end
  return found
end

-- The lists of a queue's types, by type: the names behind one, or before it, in their order, "" = from the first, or the last, one on. Reads all names.
local MOST_TYPES = 50
local function types_from(number, name, is_back)
  local found = {}
  for _, type in ipairs(redis.call("ZRANGE", type_keys.directory_key(number), 0, -1)) do
    local is_wanted = name == "" or type ~= name and ranks.is_behind(type, name) == not is_back
    local is_full = #found == MOST_TYPES
    if is_wanted and (not is_full or ranks.is_behind(found[#found], type) == not is_back) then
      local at = is_full and MOST_TYPES or #found + 1
      while at > 1 and ranks.is_behind(found[at - 1], type) == not is_back do
        found[at], at = found[at - 1], at - 1
      end
      found[at] = type
    end
  end
  return found
end

-- In each list by score. The id of a place is the type, a line feed and the id of the job.
local function walk_lists(at, id, n, number, is_back, walk)
  local name, member = string.match(id, "^([^\n]*)\n(.*)$")
  local found, type, from = {}, name, at
  local others, next_other = nil, 1
  repeat
    local key = type and type_keys.list_key(number, type)
    redis.call("EXISTS", meta_key, key or meta_key)
    for _, one in ipairs(key and walk(key, from, from == "" and "" or member, n - #found, number, "D") or {}) do
      one[4] = type .. "\n" .. one[2]
      found[#found + 1] = one
    end
    others = others or #found < n and types_from(number, name or "", is_back)
    type, from, next_other = others and others[next_other], "", next_other + 1
  until #found >= n or not type
  return found, #found < n and #others < MOST_TYPES
end

local function walk_types(_, at, id, n, number)
  return walk_lists(at, id, n, number, false, walk_on)
end

local function walk_types_back(_, at, id, n, number)
  return walk_lists(at, id, n, number, true, walk_on_back)
end

-- Some fair keys of a queue, by name; the cursor behind them, "0" = they are the last. Turns change all the time, so keys are read as Redis has stored them.
local function some_keys(turns, cursor)
  local page, names = redis.call("ZSCAN", turns, cursor, "COUNT", 1), {}
  for i = 1, #page[2], 2 do
    names[#names + 1] = page[2][i]
  end
  table.sort(names, function(one, other)
    return ranks.is_behind(other, one)
  end)
  return page[1], names
end

-- In the list of each fair key by score. The id of a place is the cursor with which its key was read, the one behind, the name of the key, and the id of the
-- job. A key without jobs is gone: then the same cursor may find other keys, which end elsewhere, and of which none was read.
local MOST_SCANS = 1000
local function walk_fair_lists(turns, at, id, n, number, walk)
  local cursor, last_end, name, member = string.match(id, "^(%d+)\n(%d*)\n([^\n]*)\n(.*)$")
  cursor = cursor or "0"
  local found, scans = {}, 0
  repeat
    local next_cursor, names = some_keys(turns, cursor)
    scans = scans + 1
    if --[[ guard: other-fair-keys-are-all-read ]] next_cursor ~= last_end then
      name = nil
    end
    for _, one in ipairs(names) do
      local key, is_last = turns .. ":" .. one, one == name -- queues/fair_keys
      redis.call("EXISTS", meta_key, key)
      for _, place in ipairs(#found < n and (not name or not ranks.is_behind(name, one)) and walk(key, is_last and at or "", is_last and member or "", n - #found, number, "Q") or {}) do
        place[4] = cursor .. "\n" .. next_cursor .. "\n" .. one .. "\n" .. place[2]
        found[#found + 1] = place
      end
    end
    cursor, last_end = next_cursor, nil
  until #found >= n or cursor == "0" or scans == MOST_SCANS
  if #found == 0 and cursor ~= "0" then
    found[1] = { false, "", "", cursor .. "\n\n\n" } -- The zset is nearly empty, and still large.
  end
  return found, #found < n and cursor == "0"
end

local function walk_keys(turns, at, id, n, number)
  return walk_fair_lists(turns, at, id, n, number, walk_on)
end

local function walk_keys_back(turns, at, id, n, number)
  return walk_fair_lists(turns, at, id, n, number, walk_on_back)
end

-- By the kind of an index: how it is read from its beginning, and from its end. All others are zsets by score.
local WALKS = {
  r = { walk_list, walk_list_back }, f = { walk_far, walk_far_back }, D = { walk_types, walk_types_back }, Q = { walk_keys, walk_keys_back },
}
local BY_SCORE = { walk_on, walk_on_back }

-- Up to n places of an index behind a place: the job (false if it is not in this index), its id, and where to go on: `at` and `id` of the next call. Both ""
-- = from the beginning, or from the end. to: the highest score. Also returns whether the end was reached.
function walk_index(kind, is_back, key, at, id, n, number, to)
  local found, is_end = (WALKS[kind] or BY_SCORE)[is_back and 2 or 1](key, at, id, n, number, kind, to)
  if is_end == nil then
    is_end = #found < n
  end
  return found, is_end
end
