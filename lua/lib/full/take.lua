-- Takes jobs from a full queue: those of priorities below 0 first, then the list, then the rest.
-- One of priority 0 stands in the zset if it got there by a change: it keeps its place in time among those of the list.
local function is_before_list(line, head)
  local score = head[1] and tonumber(head[2]) or 0
  if score <= 0 or score >= 2 ^ 45 then
    return score < 0
  end
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", line.number), line.taken, line.taken + 31)) do
    local job = entry ~= "" and job_of(string.sub(entry, 1, -2))
    if is_here(job, entry, line.number) and not job.is_taken then
      return came_before(job_of(head[1]), job)
    end
  end
end

-- The next job, whether it has expired or not; nil if there is none, or if this script has looked at enough.
local function next_job(line)
  line.skip = line.skip or 0
  local head = redis.call("ZRANGE", touch(queue_key("p", line.number)), line.skip, line.skip, "WITHSCORES")
  local job = not is_before_list(line, head) and next_in_list(line)
  if not job and head[1] and looked < LOOK_LIMIT then
    looked, line.skip, job = looked + 1, line.skip + 1, job_of(head[1])
  end
  return job or nil
end

local function next_live(line)
  while true do
    local job = next_job(line)
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
