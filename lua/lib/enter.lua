-- Places at an end of a line: planned while reading, written by lib/line_up.
local lines_up = {}
local function line_up_of(number, name)
  local line = lines_up[number]
  if not line then
    line = { number = number, name = name, ghosts = queue_key("g", number), entries = {}, size = 0, expires = 0 }
    lines_up[number] = line
  end
  return line
end

-- A new place at the end: an entry number above the last one (the old place is a ghost from here on). A job that was made again under
-- its own id may have ghosts of its former life in the line: their numbers are passed over.
local function enter(line, id, entry)
  entry = (entry + 1) % 256
  if line.size == 0 then
    -- Not before: this script may have removed a job from this line, and so made a ghost.
    line.haunted = redis.call("EXISTS", line.ghosts) == 1
  end
  for _ = 1, line.haunted and 255 or 0 do
    if redis.call("SISMEMBER", line.ghosts, id .. string.char(entry)) == 0 then
      break
    end
    entry = (entry + 1) % 256
  end
  line.size = line.size + 1
  line.entries[line.size] = id .. string.char(entry)
  return entry
end

local function note_expiry(line, expires)
  if expires > 0 and (line.expires == 0 or expires < line.expires) then
    line.expires = expires
  end
end
