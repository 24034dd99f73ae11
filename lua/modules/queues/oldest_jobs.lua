-- Since when the jobs of a queue wait: by the first job of each priority, as far as it is looked for.
--- @requires core/call, core/header
--- @exports publish_time_or_put, MOST_PRIORITIES, oldest_by_priority

-- The id of a recurring job's job has no time in it.
function publish_time_or_put(id, job)
  return publish_time(id, job) or --[[ guard: age-of-recurring-jobs ]] tonumber(redis.call("HGET", extras_key(id), "put") or nil)
end

-- When the first job of each priority of a zset was published, of up to 8 priorities: those that are leased last come first, for their jobs wait longest
-- (extended/ready_entries). Unix ms; math.huge = not known.
MOST_PRIORITIES = 8
function oldest_by_priority(key)
  local oldest, last = math.huge, "+inf"
  for _ = 1, MOST_PRIORITIES do
    local found = redis.call("ZREVRANGEBYSCORE", key, last, "-inf", "WITHSCORES", "LIMIT", 0, 1)
    if not found[1] then
      break
    end
    local first = text_of(math.floor(found[2] / PLACES) * PLACES)
    local id = redis.call("ZRANGEBYSCORE", key, first, "+inf", "LIMIT", 0, 1)[1]
    local job = read_job(id)
    oldest, last = math.min(oldest, job and publish_time_or_put(id, job) or math.huge), "(" .. first
  end
  return oldest
end
