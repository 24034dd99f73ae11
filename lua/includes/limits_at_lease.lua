-- Limits at a lease: whether a queue gives a job now, and what happens to a job whose key has no slot.
local PARKED_COST, parked = 12, {}
local function may_start(number)
  local set = settings_of(number)
  if set.paused or set.max and limits.running_in(number) >= set.max then
    return false
  elseif set.rate and limits.allowance(set.rate, set.tat) < 1 then
    set_timer("P" .. number, limits.allowed_at(set.rate, set.tat, 1))
    return false
  end
  return true
end

-- Holds a job until its key has a slot (call_held). A job that was held before keeps its place among the held jobs of its key.
local function park(job)
  local key, number = limits.key_of(job), job.queue
  looked, limits.freed[key.name] = looked + PARKED_COST, key
  leave(job)
  if not job.x.place then
    parked[number] = (parked[number] or redis.call("HGET", queue_key("i", number), "parked") or 0) + 1
    write("HSET", queue_key("i", number), "parked", parked[number])
    put(job, "place", text_of(job.priority * 2 ^ 45 + parked[number]))
  end
  key.held = key.held + 1
  go(job, HELD, now_floor)
  write("ZADD", key.held_key, job.x.place, job.id)
  log_event("held", job)
end

local function spend(job)
  local set, key = settings_of(job.queue), job.x.ckey and limits.key_of(job)
  if set.rate then
    set.tat = limits.paid_until(set.rate, set.tat)
    write("HSET", queue_key("o", job.queue), "tat", string.format("%.3f", set.tat))
  end
  if key and set.krate then -- One minute more: a test's clock may be slow.
    key.tat = limits.paid_until(set.krate, key.tat)
    write("SET", namespace_key("T" .. key.name), string.format("%.3f", key.tat), "PX", text_of(math.ceil(key.tat - now_floor) + 60000))
  end
end
