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

-- The ids of those that ended first, done and cancelled ones together: the scores of the latter are below zero.
local function first_ended(key, count)
  local done = redis.call("ZRANGEBYSCORE", key, 0, "+inf", "WITHSCORES", "LIMIT", 0, count)
  local cancelled = redis.call("ZREVRANGEBYSCORE", key, "(0", "-inf", "WITHSCORES", "LIMIT", 0, count)
  local ids, d, c = {}, 1, 1
  while #ids < count and (done[d] or cancelled[c]) do
    if not cancelled[c] or done[d] and tonumber(done[d + 1]) <= -tonumber(cancelled[c + 1]) then
      ids[#ids + 1], d = done[d], d + 2
    else
      ids[#ids + 1], c = cancelled[c], c + 2
    end
  end
  return ids
end

-- The timer stays until no more are left than allowed.
local function forget_too_many(what, number)
  local key, most = queue_key("z", number), most_kept_in(number)
  local too_many = math.min(redis.call("ZCARD", touch(key)) - most, limit)
  for _, id in ipairs(too_many > 0 and first_ended(key, too_many) or {}) do
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
