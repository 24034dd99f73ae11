-- Writes a new job: header and body, and its extras if it has any; both with the same TTL of Redis's own.
local function store_job(id, job, ttl_ms, attributes, body)
  if attributes ~= "" then
    redis.call("HSET", extras_key(id), "attributes", attributes)
  end
  if ttl_ms == 0 then
    redis.call("SET", job_key(id), pack_job(job) .. body)
    return
  end
  redis.call("SET", job_key(id), pack_job(job) .. body, "PX", ttl_ms + GRACE_MS)
  if attributes ~= "" then
    redis.call("PEXPIRE", extras_key(id), ttl_ms + GRACE_MS)
  end
end
