-- Every path to ready goes through here: join_line for each job, then write_lines once.
local function join_line(number, name, id, job)
  local line = line_up_of(number, name)
  job.state, job.entry = READY, enter(line, id, job.entry)
  note_expiry(line, job.expires)
end

-- push: "RPUSH" = the end of the line, "LPUSH" = its front.
local function write_line(push, number, line)
  redis.call(push, queue_key("r", number), unpack(line.entries))
  if line.expires > 0 then
    redis.call("ZADD", expiries, "LT", line.expires, number)
  end
  notify(line.name)
end

local function write_lines(push)
  for number, line in pairs(lines_up) do
    if line.size > 0 then
      write_line(push, number, line)
    end
  end
end
