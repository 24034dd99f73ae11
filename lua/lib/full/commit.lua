-- The one place in which a script of the full lane writes.
-- Returns the earliest timer that was set, 0 = none.
local function commit()
  limits.call_all_held()
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
  write_lines("RPUSH")
  write_fronts()
  run_all(lasts)
  return first_timer < math.huge and first_timer or 0
end
