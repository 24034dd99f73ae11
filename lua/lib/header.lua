-- A job's header without its body; nil if there is no such job.
local function read_job(id)
  local value = redis.call("GETRANGE", job_key(id), 0, HEADER_BYTES - 1)
  if value == "" then
    return nil
  end
  return unpack_job(value)
end

-- Changes the header in place: keeps the key's TTL, and never copies the body.
local function write_job(id, job)
  redis.call("SETRANGE", job_key(id), 0, pack_job(job))
end
