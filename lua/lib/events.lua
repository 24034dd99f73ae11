-- Events of plain jobs, for whoever listens: event while reading, write_events last of all. Nobody listens where there is no stream
-- (lua/scripts/listen.lua makes it): that is looked at once. What a full Redis refuses is left out, and never in the way of what it tells.
local news, stream, listens = {}, nil, nil

-- facts: JSON of what else is to be known, or nothing.
local function event(what, queue, id, facts)
  if listens == nil then
    stream = base .. ":events"
    listens = redis.call("EXISTS", stream) == 1
  end
  if listens then
    news[#news + 1] = { what, queue or "", id, facts or "" }
  end
end

-- The same by the number of the queue.
local function event_in(number, what, id)
  if listens ~= false then
    event(what, redis.call("HGET", queue_key("i", number), "name"), id)
  end
end

-- Returns how many were written.
local function write_events()
  if #news == 0 then
    return 0
  end
--- @include "lib/most_events"
  local written = 0
  for _, one in ipairs(news) do
    local id = redis.pcall("XADD", stream, "NOMKSTREAM", "MAXLEN", "~", most_events, "*", "e", one[1], "q", one[2], "i", one[3], "d", one[4])
    written = written + (type(id) == "string" and 1 or 0)
  end
  return written
end
