-- Every path to ready goes through here: join_line for each job, then write_lines once.
local lines = {}
-- A new place in the line: an entry number above the last one (the old place is a ghost from here on). A job that was made again under
-- its own id may have ghosts of its former life in the line: their numbers are passed over.
local function enter(number, name, id, entry, expires)
  local line, ghosts = lines[number], queue_key("g", number)
  if not line then
    line = { name = name, entries = {}, haunted = redis.call("EXISTS", ghosts) == 1 }
    lines[number] = line
  end
  for _ = 1, 256 do
    entry = (entry + 1) % 256
    if not line.haunted or redis.call("SISMEMBER", ghosts, id .. string.char(entry)) == 0 then
      break
    end
  end
  line.entries[#line.entries + 1] = id .. string.char(entry)
  if expires > 0 and (not line.expires or expires < line.expires) then
    line.expires = expires
  end
  return entry
end

local function join_line(number, name, id, job)
  job.state = READY
  job.entry = enter(number, name, id, job.entry, job.expires)
end

-- push: "RPUSH" = the end of the line, "LPUSH" = its front.
local function write_lines(push)
  for number, line in pairs(lines) do
    redis.call(push, queue_key("r", number), unpack(line.entries))
    if line.expires then
      redis.call("ZADD", expiries, "LT", line.expires, number)
    end
    notify(line.name)
  end
end
