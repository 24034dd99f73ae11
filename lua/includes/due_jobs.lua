-- Scheduled jobs that are due, leases that expired, jobs that expire. Members of a zset whose time has passed: an expired job is removed, `act` handles
-- the others, and a member without its job is dropped. Jobs that go to the front come last, in reverse: so the first of them stands first.
local function each_due(kind, state, number, what, goes_to_front, act)
  local key, fronts = queue_key(kind, number), {}
  for _, id in ipairs(due_in(key, what)) do
    local job = job_of(id)
    if not job or job.is_gone or not is_extended(job) or job.state ~= state then
      free("ZREM", key, id)
    elseif is_expired(job) then
      expire(job)
    elseif goes_to_front(job) then
      table.insert(fronts, 1, job)
    else
      act(job)
    end
  end
  for _, job in ipairs(fronts) do
    act(job)
  end
end

local function was_sent_to_front(job)
  return job.x.front ~= nil
end

local function has_front_queue(job)
  return settings_of(job.queue).front ~= nil
end

function timer_handlers.S(number, what)
  each_due("S", SCHEDULED, number, what, was_sent_to_front, function(job)
    local to_front = was_sent_to_front(job)
    counts.due = counts.due + 1
    leave(job)
    if job.x.waits then
      block(job)
    else
      job.to_front, job.is_stalled = to_front, true
      go(job, READY)
      log_event("ready", job)
    end
  end)
end

function timer_handlers.L(number, what)
  each_due("L", LEASED, number, what, has_front_queue, time_out)
end
