-- Bodies, and their bytes that count for a quota (limits/quotas).
local bodies = {}

-- How long the body of a job is after this script, also if the script writes it.
function bodies.bytes_of(job)
  return job.body and #job.body or redis.call("STRLEN", job_key(job.id)) - HEADER_BYTES
end

-- is_new: not the work of the lease holder. A lease holder may act late (lease_check), but not with work on another body.
function bodies.replace(job, body, is_new)
  if job.flags >= COUNTED then
    write_early("HINCRBY", meta, "bytes", #body - bodies.bytes_of(job))
  end
  will_change(job).body = body
  if is_new and job.attempts > 0 then
    job.lease = job.lease + 1
  end
end

-- With its content type; nil = plain JSON.
function bodies.replace_typed(job, body, ctype, is_new)
  bodies.replace(job, body, is_new)
  put(job, "ctype", ctype)
end
