-- Moves what was due, its places being given up: to the line, to the dead letter (where nothing expires), or away.
local counts = { due = 0, returned = 0, died = 0, expired = 0 }
local function bury(number, member)
  member.job.state, member.job.expires = DEAD, 0
  write_job(member.id, member.job)
  -- Jobs of data format 1 have a TTL of Redis's own.
  for _, key in ipairs(member.keys) do
    redis.call("PERSIST", key)
  end
  redis.call("ZADD", queue_key("d", number), now_floor, member.id)
end

local function move(step, members, how)
  for _, member in ipairs(members) do
    local job = member.job
    if not job or is_expired(job) then
      if job then
        redis.call("DEL", unpack(member.keys))
      end
      counts.expired = counts.expired + 1
    elseif how == "returned" and job.tries == 0 then
      bury(step.number, member)
      counts.died = counts.died + 1
    else
      join_line(step.number, step.name, member.id, job)
      write_job(member.id, job)
      counts[how] = counts[how] + 1
    end
  end
end
