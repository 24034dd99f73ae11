-- Leases the jobs that a line gave. Their places in the line are gone by now.
local function write_leases(line)
  local first, scores = nil, {}
  for _, lease in ipairs(line.leased) do
    local job = lease.job
    job.state, job.lease, job.tries, job.attempts = LEASED, job.lease + 1, job.tries - 1, math.min(job.attempts + 1, 65535)
    write_job(lease.id, job)
    scores[#scores + 1] = lease.ends
    scores[#scores + 1] = lease.id
    first = first and math.min(first, lease.ends) or lease.ends
  end
  if first then
    redis.call("ZADD", queue_key("l", line.number), unpack(scores))
    redis.call("ZADD", due, "LT", first, line.number)
  end
end
