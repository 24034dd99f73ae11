-- The one place in which a script of the extended path writes: what was planned, jobs, indexes and ready lists.
--- @requires core/call, core/header, core/plan, extended/jobs, extended/indexes, extended/ready_entries, limits/slots, limits/held_jobs, limits/beside_bytes
--- @exports commit

-- A number as Redis would write it, which takes longer than the rest of a field.
local numbers = {}
local function text_of_number(number)
  numbers[number] = numbers[number] or string.format("%.17g", number)
  return numbers[number]
end

-- What is stored beside the body counts as the body does. Returns by how much the sum changes.
local function count_beside(job)
  local before, now = tonumber(job.x.beside or 0), beside_bytes(job.x)
  if before ~= now then
    job.x.beside, job.news.beside = now, true
  end
  return now - before
end

-- Writes what has changed of a job. A command costs more than the fields in it.
local function save(job)
  if job.is_gone then
    return
  end
  job.lease = job.lease % 4294967296
  if job.body then
    redis.call("SET", job.key, pack_job(job) .. job.body)
  else
    redis.call("SETRANGE", job.key, "0", pack_job(job))
  end
  local x, sets, size, gone = job.x, {}, 0, nil
  local more = --[[ guard: beside-counts ]] job.flags >= COUNTED and next(job.news) and count_beside(job) or 0
  for field in pairs(job.news) do
    local value = x[field]
    if value then
      sets[size + 1], sets[size + 2], size = field, type(value) == "number" and text_of_number(value) or value, size + 2
    else
      gone = gone or {}
      gone[#gone + 1] = field
    end
  end
  if size > 0 then
    redis.call("HSET", job.extras_key, unpack(sets))
  end
  if gone then
    redis.call("HDEL", job.extras_key, unpack(gone))
  end
  if more ~= 0 then
    redis.call("HINCRBY", meta_key, "bytes", more)
  end
end

-- Returns the earliest timer that was set, 0 = none.
function commit(expiries)
  if next(slots.freed_keys) then
    held_jobs.call_all_held()
  end
  indexes.update_indexes()
  if plan.first_timer < math.huge then
    add_earliest(plan.due, plan.first_timer, EXTENDED_TIMERS)
  end
  for first = 1, #plan.keys, 100 do
    redis.call("EXISTS", meta_key, unpack(plan.keys, first, math.min(first + 99, #plan.keys)))
  end
  run_all(plan.frees)
  run_all(plan.early)
  local has_entered = false
  for _, job in ipairs(jobs.changed) do
    if job.is_entering and not job.is_gone then
      has_entered = true
      ready_entries.enter_ready_list(job)
    end
  end
  for _, job in ipairs(jobs.changed) do
    save(job)
  end
  run_all(plan.steps)
  if has_entered then
    ready_entries.write_entered(expiries)
  end
  run_all(plan.lasts)
  return plan.first_timer < math.huge and plan.first_timer or 0
end
