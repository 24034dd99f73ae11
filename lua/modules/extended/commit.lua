-- The one place in which a script of the extended path writes: what was planned, jobs, indexes and ready lists.
--- @requires core/call, core/header, core/plan, queues/ready_list, queues/registry, extended/jobs, extended/settings, extended/indexes, limits/held_jobs
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

-- Ready lists as the extended path uses them: jobs go to the end, or to the front.
local fronts = {}
local function join_front(job)
  local number = job.queue
  local list = fronts[number]
  if not list then
    list = { number = number, name = name_of(number), stale_key = queue_key("g", number), entries = {}, size = 0, expires = 0 }
    fronts[number] = list
  end
  job.entry = add_entry(list, job.id, job.entry)
  track_expiry(list, job.expires)
end

-- By priority: a zset. 2^45 places for each priority, half of them before the first. The job may have stale entries in the list from when it, or an
-- earlier job with its id, had priority 0: its entry number must be none of theirs.
local function join_ranked(job)
  local number = job.queue
  local step = job.stand or redis.call("HINCRBY", queue_key("i", number), job.to_front and "front" or "back", job.to_front and -1 or 1)
  job.entry = next_entry_number(entries_for(number, name_of(number)), job.id, job.entry)
  redis.call("ZADD", queue_key("p", number), text_of(job.priority * 2 ^ 45 + 2 ^ 44 + step), job.id)
  wake(number)
end

local function enter_ready_list(job)
  if job.priority ~= 0 or job.stand then
    join_ranked(job)
  elseif job.to_front then
    join_front(job)
  else
    make_ready(job.queue, name_of(job.queue), job.id, job)
  end
end

local function write_fronts(expiries)
  for number, list in pairs(fronts) do
    push_entries("LPUSH", expiries, number, list)
  end
end

-- Returns the earliest timer that was set, 0 = none.
function commit(expiries)
  call_all_held()
  update_indexes()
  if first_timer < math.huge then
    write("ZADD", due_key, "LT", text_of(first_timer), EXTENDED_TIMERS)
  end
  for first = 1, #key_list, 100 do
    redis.call("EXISTS", meta_key, unpack(key_list, first, math.min(first + 99, #key_list)))
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
  write_fronts(expiries)
  run_all(lasts)
  return first_timer < math.huge and first_timer or 0
end
