-- Walks a line from its head while nothing is written yet, and sorts out what it meets on the way.
local LOOK_LIMIT, EXPIRED_COST, looked, expired = 1000, 3, 0, 0 -- to remove an expired job takes longer than to pass by a ghost

-- Plans a lease if the entry means a live job. Its fields stay single values: a table for each job was a sixth of the script.
local function lease_entry(line, entry, id, key, value, ttr_ms)
  local _, state, flags, priority, tries, attempts, lease, number, place, expires = struct.unpack(HEADER, value or NO_JOB)
  if entry == "" then
    line.blanks = line.blanks + 1
  elseif state ~= READY or place ~= string.byte(entry, -1) or number ~= line.number or line.leased[id] then
    line.ghosts[#line.ghosts + 1] = entry
  elseif expires > 0 and expires <= now_floor then
    looked = looked + EXPIRED_COST - 1
    expired = expired + 1
    doom(line.doomed, id, flags)
    event_in(number, "expired", id)
  else
    local head = struct.pack(">BBBbHHI4", FORMAT, LEASED, flags, priority, tries - 1, math.min(attempts + 1, 65535), lease + 1)
    plan_lease(line, id, key, value, head, expires, ttr_ms)
    return id, value, flags
  end
end

-- The next live job of a line: id, value, flags; nil at the end of the line; nil, true when this script has looked at enough.
local function lease_next(line, wanted, ttr_ms)
  while true do
    if line.at > #line.window then
      -- If what is wanted was not enough, there may be a long way to go.
      read_window(line, line.taken < wanted and wanted - line.taken or 100)
    end
    if #line.window == 0 or looked >= LOOK_LIMIT then
      return nil, #line.window > 0
    end
    local at = line.at
    line.at, line.taken, looked = at + 1, line.taken + 1, looked + 1
    local id, value, flags = lease_entry(line, line.window[at], line.ids[at], line.keys[at + 1], line.values[at + 1], ttr_ms)
    if id then
      return id, value, flags
    end
  end
end
