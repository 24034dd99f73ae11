-- The one place in which a script of the extended path writes. Returns the earliest timer that was set, 0 = none.
local function commit()
  limits.call_all_held()
  update_indexes()
  if first_timer < math.huge then
    write("ZADD", due, "LT", text_of(first_timer), EXTENDED_TIMERS)
  end
  for first = 1, #key_list, 100 do
    redis.call("EXISTS", meta, unpack(key_list, first, math.min(first + 99, #key_list)))
  end
  run_all(frees)
  run_all(early_steps)
  for _, job in ipairs(changed) do
    if job.is_entering and not job.is_gone then
      enter_ready_list(job)
    end
  end
  for _, job in ipairs(changed) do
    save(job)
  end
  run_all(steps)
  write_ready_lists("RPUSH", expiries)
  write_fronts()
  run_all(lasts)
  return first_timer < math.huge and first_timer or 0
end
