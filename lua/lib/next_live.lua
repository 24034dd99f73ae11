-- Walks a queue's ready list from its head while nothing is written yet, and sorts out what it meets on the way.
local LOOK_LIMIT, EXPIRED_COST, looked = 1000, 3, 0 -- to remove an expired job takes longer than to pass by a ghost

-- The next live job: id, job, value; nil at the end of the line; nil, true when this script has looked at enough.
local function next_live(line, window_size)
  while true do
    if line.at > #line.window then
      local first = line.taken
      -- As many as are wanted. If that was not enough, there may be a long way to go.
      local size = first == 0 and window_size or 100
      line.window = redis.call("LRANGE", queue_key("r", line.number), first, first + size - 1)
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
      local job = value and unpack_job(value) or make_sure_it_is_gone(id)
      local here = is_here(job, entry, line.number)
      if not here or line.leased[id] then
        line.ghosts[#line.ghosts + 1] = entry
      elseif is_expired(job) then
        looked = looked + EXPIRED_COST - 1
        line.expired = line.expired + 1
        add_keys(line.doomed, id, job)
      else
        return id, job, value
      end
    end
  end
end
