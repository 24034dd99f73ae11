-- Walks a queue's ready list from its head while nothing is written yet, and sorts out what it meets on the way.
local LOOK_LIMIT = 1000
local looked = 0
local function open_line(number)
  redis.call("EXISTS", queue_key("l", number), queue_key("g", number), queue_key("i", number))
  return { number = number, taken = 0, at = 1, window = {}, blanks = 0, ghosts = {}, expired = {}, leased = {} }
end

-- The next live job: id, job, value; nil at the end of the line; nil, true when this script has looked at enough.
local function next_live(line, window_size)
  while true do
    if line.at > #line.window then
      local first = line.taken
      line.window = redis.call("LRANGE", queue_key("r", line.number), first, first + window_size - 1)
      line.at = 1
      if #line.window == 0 then
        return nil
      end
    end
    if looked >= LOOK_LIMIT then
      return nil, true
    end
    local entry = line.window[line.at]
    line.at, line.taken, looked = line.at + 1, line.taken + 1, looked + 1
    if entry == "" then
      line.blanks = line.blanks + 1
    else
      local id = string.sub(entry, 1, -2)
      local value = redis.call("GET", job_key(id))
      local job = value and unpack_job(value)
      if not job or job.state ~= READY or job.entry ~= string.byte(entry, -1) or job.queue ~= line.number then
        line.ghosts[#line.ghosts + 1] = entry
      elseif is_expired(job) then
        redis.call("EXISTS", extras_key(id))
        line.expired[#line.expired + 1] = job_key(id)
        line.expired[#line.expired + 1] = extras_key(id)
      else
        return id, job, value
      end
    end
  end
end

-- Drops what was walked over. Frees first: LTRIM never needs memory.
local function cut_line(line)
  if line.taken == 0 then
    return
  end
  redis.call("LTRIM", queue_key("r", line.number), line.taken, -1)
  if #line.expired > 0 then
    redis.call("DEL", unpack(line.expired))
  end
  if #line.ghosts > 0 then
    redis.call("SREM", queue_key("g", line.number), unpack(line.ghosts))
  end
  if line.blanks > 0 then
    redis.call("HINCRBY", queue_key("i", line.number), "blanks", -line.blanks)
  end
end
