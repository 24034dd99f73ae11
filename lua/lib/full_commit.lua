-- The one place in which a script of the full lane writes.
-- To its line: by priority first, then in the order in which jobs come. 2^45 places for each priority, half of them before the first.
local function enter_line(job)
  local number = job.queue
  if job.priority == 0 and not job.stand then
    join_line(number, name_of(number), job.id, job)
    return
  end
  local step = job.stand or redis.call("HINCRBY", queue_key("i", number), job.to_front and "front" or "back", job.to_front and -1 or 1)
  job.entry = (job.entry + 1) % 256 -- It may have an entry in the list, from when it had another priority: a ghost from here on.
  redis.call("ZADD", queue_key("p", number), text_of(job.priority * 2 ^ 45 + 2 ^ 44 + step), job.id)
  lasts[#lasts + 1] = function()
    notify(name_of(number))
  end
end

-- push: "LPUSH" for jobs that go back to the front of their lines. Returns the earliest timer that was set, 0 = none.
local function commit(push)
  tend_indexes()
  if first_timer < math.huge then
    write("ZADD", due, "LT", text_of(first_timer), FULL_LANE)
  end
  for first = 1, #key_list, 100 do
    redis.call("EXISTS", meta, unpack(key_list, first, math.min(first + 99, #key_list)))
  end
  run_all(frees)
  run_all(marks)
  for _, job in ipairs(changed) do
    if job.is_entering and not job.is_gone then
      enter_line(job)
    end
  end
  for _, job in ipairs(changed) do
    save(job)
  end
  run_all(steps)
  write_lines(push or "RPUSH")
  run_all(lasts)
  return first_timer < math.huge and first_timer or 0
end
