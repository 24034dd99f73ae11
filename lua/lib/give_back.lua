-- Leases that go back to the front of their lines, the try not spent: plan_return while reading, write_returns after. Those of rich jobs
-- are left to the full lane.
local given, others = {}, {}

-- False if the job has expired, moved on or been leased anew: then it stays as it is.
local function plan_return(id, lease)
  local job = read_job(id)
  local ours = job and job.state == LEASED and job.lease == lease and not is_expired(job)
  if ours and is_rich(job) then
    others[#others + 1], others[#others + 2] = id, lease
    return false, true
  elseif ours and not given[id] then
    given[id] = true
    local name = redis.call("HGET", queue_key("i", job.queue), "name")
    redis.call("EXISTS", queue_key("l", job.queue), queue_key("r", job.queue), queue_key("g", job.queue))
    given[#given + 1] = { id = id, job = job, name = name }
    event("released", name, id)
  end
  return ours
end

local function write_returns()
  for _, lease in ipairs(given) do
    redis.call("ZREM", queue_key("l", lease.job.queue), lease.id)
  end
  -- The last goes to the front first, so that they stand in the order in which they were taken.
  for i = #given, 1, -1 do
    local id, job = given[i].id, given[i].job
    job.tries, job.attempts = math.min(job.tries + 1, 65535), job.attempts - 1
    join_line(job.queue, given[i].name, id, job)
    write_job(id, job)
  end
  write_lines("LPUSH")
  write_events()
end
