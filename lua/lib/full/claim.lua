-- Who comes late may find his slot taken: of the queue, or of the job's key.
local function may_go_on(job)
  local set, key = settings_of(job.queue), job.x.ckey and limits.key_of(job)
  local is_free = not key or key.taken - (job.x.slot and 1 or 0) < (set.kmax or math.huge)
  return is_free and limits.running_in(job.queue) < (set.max or math.huge)
end

-- Whether who says something of a job is its owner: the codes of full_settle.
local function claim_on(job, verb, lease, options)
  if job and job.state == HELD and lease > 0 and not job.is_gone then
    return 2
  elseif not job or job.is_gone or is_expired(job) or job.state > LEASED and lease > 0 or job.state == DONE or job.state == CANCELLED then
    return job and not job.is_gone and lease > 0 and job.lease ~= lease and 2 or 0
  elseif options.queue and find_queue(options.queue) ~= job.queue then
    return 0
  elseif lease > 0 then
    -- Who is late may go on as long as nobody else has begun: only a lease that ran out leaves its number behind.
    local is_late = verb == "beat" and job.state == READY and job.attempts > 0 and may_go_on(job)
    return job.lease == lease and (job.state == LEASED or is_late) and 1 or 2
  elseif job.attempts == 0 then
    return 5
  end
  return job.state ~= LEASED and 3 or job.attempts > 1 and 4 or 1
end
