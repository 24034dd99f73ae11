-- Leases one job, and adds it to the reply.
local function lease_job(job, name, place, item, reply)
  local value = redis.call("GET", job_key(job.id))
  local ttr_ms = item.ttr_ms > 0 and item.ttr_ms or own_ttr(job)
  local ends = now_ceil + ttr_ms
  if job.expires > 0 and job.expires < ends then
    ends = job.expires
  end
  leave(job)
  spend(job)
  if settings_of(job.queue).max then -- A job that leaves a slot must be counted.
    make_extended(job, true)
  end
  -- A simple job has no place for it.
  local worker = is_extended(job) and item.worker ~= "" and item.worker or nil
  if worker ~= job.x.worker then
    put(job, "worker", worker)
  end
  job.tries, job.attempts, job.lease = job.tries - 1, math.min(job.attempts + 1, 65535), job.lease + 1
  if is_extended(job) then
    put(job, "leased", now_floor)
  end
  go(job, LEASED, ends)
  log_event("leased", job, { attempt = job.attempts, worker = worker })
  if record ~= "" then
    batch[batched + 1], batch[batched + 2], batched = string.sub(pack_job(job), 5, 12), job.id, batched + 2
    last_end = math.max(last_end, ends)
  end
  local n = #reply
  item.found, bytes = item.found + 1, bytes + #value
  reply[n + 1], reply[n + 2], reply[n + 3] = job.id, value, cjson.encode(facts_of(job, place, ends))
end
