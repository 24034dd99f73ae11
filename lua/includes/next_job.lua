-- Takes jobs from an extended queue: those of priorities below 0 first, then the ready list, then the rest. A job of priority 0 is in the zset after a change
-- that kept its place in time: it is compared with those of the list.
local function is_before_list(list, head)
  local score = head[1] and tonumber(head[2]) or 0
  if score <= 0 or score >= 2 ^ 45 then
    return score < 0
  end
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", list.number), list.taken, list.taken + 31)) do
    local job = entry ~= "" and job_of(string.sub(entry, 1, -2))
    if is_live_entry(job, entry, list.number) and not job.is_taken then
      return came_before(job_of(head[1]), job)
    end
  end
end

-- The next job, expired or not; nil if there is none, or if this script has looked at enough entries.
local function next_job(list)
  list.skip = list.skip or 0
  local head = redis.call("ZRANGE", touch(queue_key("p", list.number)), list.skip, list.skip, "WITHSCORES")
  local job = not is_before_list(list, head) and next_in_list(list)
  if not job and head[1] and looked < LOOK_LIMIT then
    looked, list.skip, job = looked + 1, list.skip + 1, job_of(head[1])
  end
  return job or nil
end

local function next_live(list)
  while true do
    local job = next_job(list)
    if job and is_expired(job) then
      expired = expired + 1
      leave(job)
      conclude(job, nil, "expired")
    elseif not job or limits.has_slot(job) then
      return job
    else
      park(job)
    end
  end
end
