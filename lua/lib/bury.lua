-- To the dead letter, where nothing expires. Jobs of data format 1 have a TTL of Redis's own.
local function bury(job)
  redis.call("SETRANGE", job_key(job.id), 0, job.head)
  for _, key in ipairs(job.keys) do
    redis.call("PERSIST", key)
  end
  redis.call("ZADD", queue_key("d", job.number), now_floor, job.id)
end

-- What was looked at are the first members: to take them away by rank costs half of what it costs by name.
local function drop(kind, number, ids)
  if #ids > 0 then
    redis.call("ZREMRANGEBYRANK", queue_key(kind, number), 0, #ids - 1)
  end
end
