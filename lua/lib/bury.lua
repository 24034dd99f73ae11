-- To the dead letter, where nothing expires. Jobs of data format 1 have a TTL of Redis's own.
local function bury(job)
  local keys = {}
  add_keys(keys, job.id, job.flags)
  redis.call("SETRANGE", keys[1], 0, job.head)
  for _, key in ipairs(keys) do
    redis.call("PERSIST", key)
  end
  redis.call("ZADD", queue_key("d", job.number), now_floor, job.id)
end
