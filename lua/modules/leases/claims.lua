-- Who may do a lease operation, and how the lease holder loses its lease.
--- @requires core/call, core/header, core/plan, queues/registry, extended/jobs, extended/settings, extended/moves, extended/conversion
--- @requires leases/run_limit, limits/concurrency_keys, limits/slots
--- @exports take_in_hand, take_back, claim_on, record_worker, handler_began

-- A late heartbeat may find the slot taken: of the queue, or of the job's key.
local function may_go_on(job)
  local set, key = settings.settings_of(job.queue), job.x.ckey and concurrency_keys.concurrency_key_of(job)
  local is_free = not key or key.taken - (job.x.slot and 1 or 0) < (set.kmax or math.huge)
  return --[[ guard: late-holder-needs-key-slot ]] is_free and --[[ guard: late-holder-needs-slot ]] slots.running_in(job.queue) < (set.max or math.huge)
end

-- A job whose lease expired keeps that lease's number until it is leased again: until then its last lease holder is accepted. Every other way back
-- from a lease raises the number; undo does not, but its lease reached no worker.
local IS_WAITING = { [READY] = true, [SCHEDULED] = true, [HELD] = true }
local function is_late(job, verb)
  return IS_WAITING[job.state] and --[[ guard: settle-needs-earlier-lease ]] job.attempts > 0 and --[[ guard: undo-needs-current-lease ]] verb ~= "undo" and (verb ~= "heartbeat" or may_go_on(job))
end

-- A job that died when its lease expired keeps that lease's number: the work may have been done all the same.
local function died_with(job, lease)
  return --[[ guard: dead-refuses-older-ack ]] job.lease == lease and job.attempts >= 1 and --[[ guard: dead-job-refuses-overrun ]] not run_limit.is_run_over(job)
end

-- Takes the job out of its index for its lease holder. If it was scheduled again meanwhile, it is not due at a time any more. A lease that expired without
-- its try has that try counted now: its response had reached the worker.
function take_in_hand(job)
  -- guard: late-call-costs-try
  if job.was_free then
    job.tries, job.free_retries, job.was_free = math.max(job.tries - 1, 0), math.max(job.free_retries - 1, 0), false
  end
  if job.state == SCHEDULED then
    jobs.put(job, "due", nil)
  end
  moves.leave(job)
end

-- Whether a lease operation comes from the lease holder: the codes of the command extended/settle.
function claim_on(job, verb, lease, options)
  -- First of all: a caller learns nothing about a job in another queue.
  if job and --[[ guard: batch-hides-other-queues ]] options.queue and registry.find_queue(options.queue) ~= job.queue then
    return 0
  elseif verb == "revoke" then -- Not by the lease holder: any lease will do, but there must be one.
    return (not job or job.is_gone or is_expired(job)) and 0 or --[[ guard: revoke-needs-a-lease ]] job.state == LEASED and 1 or 7
  elseif verb == "force_fail" then
    return (not job or job.is_gone or is_expired(job)) and 0 or job.state >= DONE and 7 or 1
  end
  local is_over = not job or job.is_gone or is_expired(job) or job.state == DONE or job.state == CANCELLED
  if job and not job.is_gone and job.state == DEAD and lease > 0 then
    return died_with(job, lease) and --[[ guard: dead-job-takes-only-an-ack ]] verb == "ack" and not options.next and 1 or 2
  elseif is_over or lease > 0 and job.state == BLOCKED then
    return job and not job.is_gone and lease > 0 and job.lease ~= lease and 2 or 0
  elseif lease > 0 then
    return --[[ guard: lease-number-proves-holder ]] job.lease == lease and --[[ guard: overrun-holder-refused ]] not run_limit.is_run_over(job) and (job.state == LEASED or --[[ guard: extended-late-holder-settles ]] is_late(job, verb)) and 1 or 2
  elseif job.attempts == 0 then
    return 5
  end
  return job.state ~= LEASED and 3 or job.attempts > 1 and 4 or 1
end

-- The lease holder loses the lease, although no worker has a new one yet.
function take_back(job)
  take_in_hand(job)
  conversion.make_room_for_lease(job, true)
  jobs.raise_lease(job)
  if is_extended(job) then
    jobs.put(job, "leased", nil)
  end
end

-- What the lease holder sends shows that a handler had begun: workers without one count from the start again (leases/give_back).
function handler_began(job)
  -- guard: handler-resets-unhandled
  jobs.put(job, "no_handler", nil)
end

-- A worker was seen. One that is not seen for a while is forgotten. most: workers, nil or 0 = any number. What a full Redis refuses is left out: the call must not fail for it.
local seen = {}
function record_worker(worker, most)
  if worker and worker ~= "" and not seen[worker] and redis.call("EXISTS", meta_key) == 1 then
    seen[worker] = touch(namespace_key("workers"))
    touch(namespace_key("timers"))
    local forget_at = now_floor + settings.namespace_setting("max_worker_age_ms", 86400000)
    local is_beyond = most and most > 0 and redis.call("ZCARD", seen[worker]) >= most
    plan.lasts[#plan.lasts + 1] = function()
      redis.pcall("ZADD", seen[worker], is_beyond and "XX" or "CH", text_of(now_floor), worker)
      redis.pcall("ZADD", namespace_key("timers"), "LT", text_of(forget_at), "W")
      redis.pcall("ZADD", plan.due, "LT", text_of(forget_at), EXTENDED_TIMERS)
    end
  end
end
