-- Jobs from another store: read_arrival and plan_arrival while reading, place_arrival when writing.
local function read_arrival(text)
  local state, tries, attempts, ttl, at, queue, attributes = string.match(text, "^(%d+),(%d+),(%d+),(%d+),(%d+),([^,]*),(.*)$")
  local expires = tonumber(state) ~= DEAD and tonumber(ttl) > 0 and now_ceil + ttl or 0
  local job = {
    state = tonumber(state), flags = attributes ~= "" and HAS_EXTRAS or 0, priority = 0, tries = tonumber(tries),
    attempts = tonumber(attempts), lease = tonumber(attempts), entry = 1, expires = expires, spared = 0,
  }
  at = expires > 0 and math.min(tonumber(at), expires) or tonumber(at)
  return { job = job, at = at, queue = queue, attributes = attributes }
end

local function plan_arrival(arrival, id, body, expired)
  arrival.id, arrival.body, arrival.job.queue = id, body, number_of(arrival.queue)
  if expired then
    plan_removal(id, expired.state, expired.queue, expired.entry, expired.flags)
  end
  for _, kind in ipairs({ "r", "s", "l", "d", "f", "g", "i" }) do
    redis.call("EXISTS", extras_key(id), queue_key(kind, arrival.job.queue))
  end
end

local function place_arrival(arrival)
  local job, id, dead = arrival.job, arrival.id, queue_key("d", arrival.job.queue)
  if job.state == READY then
    join_line(job.queue, arrival.queue, id, job)
  elseif job.state == SCHEDULED then
    schedule_job(job.queue, id, arrival.at)
  elseif job.state == LEASED then
    redis.call("ZADD", queue_key("l", job.queue), text_of(arrival.at), id)
    redis.call("ZADD", due, "LT", text_of(arrival.at), job.queue)
  else -- Behind whoever died before, to a 64th of a millisecond: when it died nobody knows, but in which order they do.
    local last = tonumber(redis.call("ZRANGE", dead, -1, -1, "WITHSCORES")[2] or 0)
    redis.call("ZADD", dead, string.format("%.6f", math.max(now_ceil, last + 1 / 64)), id)
  end
  put_value(job_key(id), pack_job(job) .. arrival.body)
  if arrival.attributes ~= "" then
    redis.call("HSET", extras_key(id), "attributes", arrival.attributes)
  end
end
