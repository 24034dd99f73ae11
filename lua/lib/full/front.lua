-- Lines as the full lane joins them: at the end, or, each job for itself, at the front.
local enter_line, write_fronts
do
  local fronts = {}
  local function join_front(job)
    local number = job.queue
    local line = fronts[number]
    if not line then
      line = { name = name_of(number), ghosts = queue_key("g", number), entries = {}, size = 0, expires = 0 }
      fronts[number] = line
    end
    job.entry = enter(line, job.id, job.entry)
    note_expiry(line, job.expires)
  end

  -- To its line: by priority first, then in the order in which jobs come. 2^45 places for each priority, half of them before the first.
  function enter_line(job)
    local number = job.queue
    if job.priority == 0 and not job.stand then
      if job.to_front then
        return join_front(job)
      end
      return join_line(number, name_of(number), job.id, job)
    end
    local step = job.stand or redis.call("HINCRBY", queue_key("i", number), job.to_front and "front" or "back", job.to_front and -1 or 1)
    job.entry = (job.entry + 1) % 256 -- It may have an entry in the list, from when it had another priority: a ghost from here on.
    redis.call("ZADD", queue_key("p", number), text_of(job.priority * 2 ^ 45 + 2 ^ 44 + step), job.id)
    wake(number)
  end

  function write_fronts()
    for number, line in pairs(fronts) do
      write_line("LPUSH", number, line)
    end
  end
end
