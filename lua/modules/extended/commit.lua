-- The one place in which a script of the extended path writes: what was planned, jobs, indexes and ready lists.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/indexes, extended/ready_entries, limits/slots, limits/held_jobs
--- @exports commit

local function write_fields(command, id, fields)
  if #fields > 0 then
    redis.call(command, extras_key(id), unpack(fields))
  end
end

-- Writes what has changed of a job. A command costs more than the fields in it.
local function save(job)
  if job.is_gone then
    return
  end
  job.lease = job.lease % 4294967296
  if job.body then
    redis.call("SET", job_key(job.id), pack_job(job) .. job.body)
  else
    redis.call("SETRANGE", job_key(job.id), 0, pack_job(job))
  end
  local sets, gone = {}, {}
  for field in pairs(job.news) do
    local value = job.x[field]
    if value then
      sets[#sets + 1], sets[#sets + 2] = field, value
    else
      gone[#gone + 1] = field
    end
  end
  write_fields("HSET", job.id, sets)
  write_fields("HDEL", job.id, gone)
end

-- Returns the earliest timer that was set, 0 = none.
function commit(expiries)
  if next(freed_keys) then
    call_all_held()
  end
  update_indexes()
  if first_timer < math.huge then
    write("ZADD", due_key, "LT", text_of(first_timer), EXTENDED_TIMERS)
  end
  for first = 1, #key_list, 100 do
    redis.call("EXISTS", meta_key, unpack(key_list, first, math.min(first + 99, #key_list)))
  end
  run_all(frees)
  run_all(early_steps)
  local has_entered = false
  for _, job in ipairs(changed) do
    if job.is_entering and not job.is_gone then
      has_entered = true
      enter_ready_list(job)
    end
  end
  for _, job in ipairs(changed) do
    save(job)
  end
  run_all(steps)
  if has_entered then
    write_entered(expiries)
  end
  run_all(lasts)
  return first_timer < math.huge and first_timer or 0
end
