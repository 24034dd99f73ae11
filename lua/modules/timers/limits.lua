-- Timers of limits that allow more: the rate of a queue, a slot of a key, or the new settings of a queue.
--- @requires core/call, core/plan, extended/jobs, extended/settings, queues/pauses, limits/concurrency_keys, limits/slots, timers/steps
--- @exports start_by_rate, call_by_key

-- The rate of a queue allows a job.
function start_by_rate(number, what)
  remove_member(steps.timers_key, what)
  settings.wake(tonumber(number))
end

-- Pauses that have ended, and the time of the next end.
local function end_pauses(number, what)
  local set = settings.settings_of(number)
  for _, field in ipairs(set.ended) do
    local turns, name, turn = pauses.turn_after_pause(number, field)
    if turns then
      add_member(turns, turn, name)
    end
    free("HDEL", queue_key("o", number), unpack(field == "pauser" and { field, "paused" } or { field }))
  end
  if #set.ended > 0 then
    settings.wake(number)
  end
  if set.next_end then
    set_timer(what, set.next_end)
  end
end

-- All keys of a queue, by the jobs that they hold, a few at a time: `from` is how many of those have been looked at.
local function call_by_queue(number, what)
  local from = tonumber(settings.settings_of(number).seen or 0)
  local ids = redis.call("ZRANGE", touch(queue_key("h", number)), from, from + 7)
  steps.use_steps(#ids)
  for _, id in ipairs(ids) do
    local job = jobs.job_of(id)
    local key = job and job.x.ckey and concurrency_keys.concurrency_key_of(job)
    if key then
      slots.freed_keys[key.name] = key
    end
    from = from + (key and concurrency_keys.room_of(key) > 0 and 0 or 1)
  end
  if #ids > 0 then
    write("HSET", queue_key("o", number), "seen", from)
    set_timer(what, now_floor)
  else
    free("HDEL", queue_key("o", number), "seen")
  end
end

-- A slot of a key is free, or a queue has new settings.
function call_by_key(name, what)
  remove_member(steps.timers_key, what)
  local number, digest = string.match(name, "^(%d+):?(.*)$")
  if digest == "" then
    end_pauses(tonumber(number), what)
    call_by_queue(tonumber(number), what)
  else
    slots.freed_keys[name] = concurrency_keys.concurrency_key_named(name, tonumber(number))
  end
end
