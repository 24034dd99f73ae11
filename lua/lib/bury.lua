-- To the dead letter, where nothing expires.
local function bury(number, member)
  member.job.state, member.job.expires = DEAD, 0
  write_job(member.id, member.job)
  -- Jobs of data format 1 have a TTL of Redis's own.
  for _, key in ipairs(member.keys) do
    redis.call("PERSIST", key)
  end
  redis.call("ZADD", queue_key("d", number), now_floor, member.id)
end
