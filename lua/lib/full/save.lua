-- Writes what has changed of a job.
local function save(job)
  if not job.is_gone then
    job.lease = job.lease % 4294967296
    if job.body then
      redis.call("SET", job_key(job.id), pack_job(job) .. job.body)
    else
      redis.call("SETRANGE", job_key(job.id), 0, pack_job(job))
    end
    for field in pairs(job.news) do
      local value = job.x[field]
      redis.call(value and "HSET" or "HDEL", extras_key(job.id), field, unpack({ value }))
    end
  end
end
