-- The ready list of a queue. A place in it moves when entries before it are taken, by workers or by a sweep, so the reader looks for the id that was there:
-- near where it was, towards the head. If it is gone, all entries before it are gone too, and the head has not been read. If it has moved too far, it is
-- read again, with those before it.
local LOOK_BACK, MOST_BACK = 2000, 20000

local function place_behind(key, at, id)
  local last = at
  while id ~= "" and last >= 0 and at - last < MOST_BACK do
    local first = math.max(last - LOOK_BACK + 1, 0)
    local entries = redis.call("LRANGE", key, first, last)
    for i = #entries, 1, -1 do
      if string.sub(entries[i], 1, -2) == id then
        return first + i
      end
    end
    last = first - 1
  end
  return id == "" and at + 1 or 0
end

-- Tombstones are no places: there may be many, and all are equal. Also returns whether this is the end of the list.
local MOST_BLANKS = 10000
local function walk_list(key, at, id, n, number)
  local first, found, looked, entries = at == "" and 0 or place_behind(key, tonumber(at), id), {}, 0, nil
  repeat
    entries = redis.call("LRANGE", key, first, first + n - 1)
    for i, entry in ipairs(entries) do
      local one = string.sub(entry, 1, -2)
      local job = entry ~= "" and read_job(one)
      if entry ~= "" or looked + i >= MOST_BLANKS then
        found[#found + 1] = { is_live_entry(job, entry, number) and job or false, one, text_of(first + i - 1), one }
      end
    end
    first, looked = first + #entries, looked + #entries
  until #found > 0 or #entries < n
  return found, #entries < n
end
