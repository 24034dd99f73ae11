-- Bodies, and their bytes that count for a quota (lib/quotas).
local bodies = {}

-- How long the body of a job is when this script is over, also if it wrote it itself.
function bodies.bytes_of(job)
  return job.body and #job.body or redis.call("STRLEN", job_key(job.id)) - HEADER_BYTES
end

-- is_new: somebody else's. Whoever had a lease that ran out may come late (lib/full/claim), but not with work on another body.
function bodies.replace(job, body, is_new)
  if job.flags >= COUNTED then
    mark("HINCRBY", meta, "bytes", #body - bodies.bytes_of(job))
  end
  will_change(job).body = body
  if is_new and job.attempts > 0 then
    job.lease = job.lease + 1
  end
end
