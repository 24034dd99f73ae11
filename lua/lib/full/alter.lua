-- What is said of a job and does not move it. ttl_ms: from now, 0 = it lives for ever; tags: JSON, "" = none.
local function alter(job, wish, bytes)
  if wish.ttl_ms then
    job.expires = wish.ttl_ms > 0 and now_ceil + wish.ttl_ms or 0
    if job.expires > 0 then
      write("ZADD", space_key("expiring"), text_of(job.expires), job.id)
      set_timer("E", job.expires)
    else
      free("ZREM", space_key("expiring"), job.id)
    end
  end
  if wish.tags then
    put(job, "tags", wish.tags ~= "" and wish.tags or nil)
  end
  if wish.has_data then
    bodies.replace(job, bytes, true)
    put(job, "ctype", wish.ctype)
  end
end

-- When it is due as far as anybody can tell; nil if nobody can: a plain job far ahead has its time in the list of a slot alone, and one
-- that is to expire before it is due stands at the end of its ttl.
local function due_of(job)
  if job.state ~= SCHEDULED then
    return tonumber(job.x.due or 0)
  end
  local at = tonumber(redis.call("ZSCORE", queue_key(kind_of(job), job.queue), job.id) or nil)
  return at and (at ~= job.expires or is_rich(job)) and at or nil
end
