-- Ended jobs whose retention is over: by age, in one zset for the namespace, and by count, the oldest of a queue.
local function forget(job, number)
  local is_kept = job and not job.is_gone and (job.state == DONE or job.state == CANCELLED) and (not number or job.queue == number)
  if is_kept then
    leave(job)
    vanish(job)
  end
  return is_kept
end

local function forget_aged(what)
  for _, id in ipairs(due_in(namespace_key("keeping"), what)) do
    local job = job_of(id)
    if job and tonumber(job.x.ended or 0) + tonumber(job.x.keep or 0) <= now_floor then
      forget(job)
    end
    free("ZREM", namespace_key("keeping"), id)
  end
end

-- The timer stays until no more are left than allowed.
local function forget_too_many(what, number)
  local key, most = queue_key("z", number), most_kept_in(number)
  local too_many = math.min(redis.call("ZCARD", touch(key)) - most, limit)
  for _, id in ipairs(too_many > 0 and redis.call("ZRANGE", key, 0, too_many - 1) or {}) do
    limit = limit - 1
    free("ZREM", forget(job_of(id), number) and namespace_key("keeping") or key, id)
  end
  lasts[#lasts + 1] = function()
    if redis.call("ZCARD", key) <= most then
      redis.call("ZREM", timers, what)
    end
  end
end

function timer_handlers.Z(number, what)
  local forget_some = number == "" and forget_aged or forget_too_many
  forget_some(what, tonumber(number))
end
