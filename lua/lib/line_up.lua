-- Every path to ready goes through here: join_line for each job, then write_lines once.
local lines = {}
-- Marks the job ready in a new place (a raised entry number: the old place is a ghost from here on). A job that was made again under
-- its own id may have ghosts of its former life in the line: their numbers are passed over.
local function join_line(number, name, id, job)
  local line, ghosts = lines[number], queue_key("g", number)
  if not line then
    line = { name = name, entries = {}, haunted = redis.call("EXISTS", ghosts) == 1 }
    lines[number] = line
  end
  job.state = READY
  for _ = 1, 256 do
    job.entry = (job.entry + 1) % 256
    if not line.haunted or redis.call("SISMEMBER", ghosts, id .. string.char(job.entry)) == 0 then
      break
    end
  end
  line.entries[#line.entries + 1] = id .. string.char(job.entry)
  if job.expires > 0 and (not line.expires or job.expires < line.expires) then
    line.expires = job.expires
  end
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
