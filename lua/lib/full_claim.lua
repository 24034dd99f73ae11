-- Whether who says something of a job is its owner: the codes of full_settle.
local function claim_on(job, verb, lease, options)
  if not job or job.is_gone or is_expired(job) or job.state > LEASED and lease > 0 or job.state == DONE or job.state == CANCELLED then
    return job and not job.is_gone and lease > 0 and job.lease ~= lease and 2 or 0
  elseif options.queue and find_queue(options.queue) ~= job.queue then
    return 0
  elseif lease > 0 then
    -- Who is late may go on as long as nobody else has begun: only a lease that ran out leaves its number behind.
    local is_late = verb == "beat" and job.state == READY and job.attempts > 0
    return job.lease == lease and (job.state == LEASED or is_late) and 1 or 2
  elseif job.attempts == 0 then
    return 5
  end
  return job.state ~= LEASED and 3 or job.attempts > 1 and 4 or 1
end
