-- Leases the jobs that a line gave: plan_lease while reading, write_leases when their places in the line are gone.
local function plan_lease(line, id, job, value, ttr_ms)
  local ends = now_ceil + ttr_ms
  if job.expires > 0 and job.expires < ends then
    ends = job.expires
  end
  line.leased[#line.leased + 1], line.leased[id] = { id = id, job = job, value = value, ends = ends }, true
end

local function write_leases(line)
  local first, scores = nil, {}
  for _, lease in ipairs(line.leased) do
    local job = lease.job
    job.state, job.lease, job.tries, job.attempts = LEASED, job.lease + 1, job.tries - 1, math.min(job.attempts + 1, 65535)
    change_header(lease.id, lease.value, pack_job(job))
    scores[#scores + 1] = lease.ends
    scores[#scores + 1] = lease.id
    first = first and math.min(first, lease.ends) or lease.ends
  end
  if first then
    redis.call("ZADD", queue_key("l", line.number), unpack(scores))
    redis.call("ZADD", due, "LT", first, line.number)
  end
end
