-- A late heartbeat may find the slot taken: of the queue, or of the job's key.
local function may_go_on(job)
  local set, key = settings_of(job.queue), job.x.ckey and limits.key_of(job)
  local is_free = not key or key.taken - (job.x.slot and 1 or 0) < (set.kmax or math.huge)
  return is_free and limits.running_in(job.queue) < (set.max or math.huge)
end

-- A job whose lease expired keeps that lease's number until it is leased again: until then its last lease holder is accepted. Every other way back
-- from a lease raises the number; undo does not, but its lease reached no worker.
local IS_WAITING = { [READY] = true, [SCHEDULED] = true, [HELD] = true }
local function is_late(job, verb)
  return IS_WAITING[job.state] and job.attempts > 0 and verb ~= "undo" and (verb ~= "heartbeat" or may_go_on(job))
end

-- A job that died when its lease expired keeps that lease's number: the work may have been done all the same.
local function died_with(job, lease)
  return job.lease == lease and job.attempts >= 1
end

-- Takes the job out of its index for its lease holder. If it was scheduled again meanwhile, it is not due at a time any more.
local function take_in_hand(job)
  if job.state == SCHEDULED then
    put(job, "due", nil)
  end
  leave(job)
end

-- Whether a lease operation comes from the lease holder: the codes of the command extended/settle.
local function claim_on(job, verb, lease, options)
  -- First of all: a caller learns nothing about a job in another queue.
  if job and options.queue and find_queue(options.queue) ~= job.queue then
    return 0
  elseif verb == "revoke" then -- Not by the lease holder: any lease will do, but there must be one.
    return (not job or job.is_gone or is_expired(job)) and 0 or job.state == LEASED and 1 or 7
  end
  local is_over = not job or job.is_gone or is_expired(job) or job.state == DONE or job.state == CANCELLED
  if job and not job.is_gone and job.state == DEAD and lease > 0 then
    return died_with(job, lease) and verb == "ack" and not options.next and 1 or 2
  elseif is_over or lease > 0 and job.state == BLOCKED then
    return job and not job.is_gone and lease > 0 and job.lease ~= lease and 2 or 0
  elseif lease > 0 then
    return job.lease == lease and (job.state == LEASED or is_late(job, verb)) and 1 or 2
  elseif job.attempts == 0 then
    return 5
  end
  return job.state ~= LEASED and 3 or job.attempts > 1 and 4 or 1
end
