-- The tries that a job has used: its leases, but for those that were not charged.
local function used_tries(job)
  return math.max(job.attempts - job.free_retries, 0)
end

-- Changes fields of a job that do not move it. ttl_ms: from now, 0 = it never expires; tags: JSON, "" = none; tries: in all; retry: JSON.
local function alter(job, wish, bytes)
  if wish.ttl_ms then
    job.expires = wish.ttl_ms > 0 and now_ceil + wish.ttl_ms or 0
    if job.expires > 0 then
      write("ZADD", namespace_key("expiring"), text_of(job.expires), job.id)
      set_timer("E", job.expires)
    else
      free("ZREM", namespace_key("expiring"), job.id)
    end
  end
  if wish.tags then
    put(job, "tags", wish.tags ~= "" and wish.tags or nil)
  end
  if wish.tries then
    will_change(job).tries = wish.tries - used_tries(job)
    put(job, "tries", wish.tries)
  end
  for _, field in ipairs({ "type", "retry" }) do
    if wish[field] then
      put(job, field, wish[field])
    end
  end
  if wish.has_data then
    bodies.replace_typed(job, bytes, wish.ctype, true)
  end
end

-- When a job is due, as far as it is known. Returns nil for a simple job that is scheduled far ahead (only the list of its slot has the time)
-- and for one whose place is the end of its ttl because it expires before it is due.
local function due_of(job)
  if job.state ~= SCHEDULED then
    return tonumber(job.x.due or 0)
  end
  local at = tonumber(redis.call("ZSCORE", queue_key(kind_of(job), job.queue), job.id) or nil)
  return at and (at ~= job.expires or is_extended(job)) and at or nil
end
