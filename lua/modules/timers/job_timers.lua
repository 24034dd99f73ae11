-- Timers of jobs: scheduled jobs that are due, leases that expired, jobs that expire, and jobs that are being cancelled.
--- @requires core/call, core/header, core/plan, queues/registry, jobs/deliveries, extended/jobs, extended/timeline, extended/moves
--- @requires extended/settings, extended/dead_jobs, extended/dependencies, jobs/retry_delay, leases/run_limit, timers/steps
--- @exports watch_deliveries, expire_jobs, make_due, time_out_leases, end_grace

-- sending: key of the delivery log.
local sending_key
function watch_deliveries(sending)
  sending_key = sending
end

-- A lease expired (ADR 32). If its response may not have left the server, it costs no try (jobs/deliveries). Else it counts as a crash; what becomes of
-- the job is decided by its tries, its retry policy, and the settings of its queue. At the end of max_run_ms the lease is lost, also for a late holder.

-- When the job is to be tried again, ms from now; nil = not at all. A job of lmstfy's API without a policy goes back at once, and has no failure,
-- unless its run ended.
local function delay_after_crash(job, group, message)
  local grace_ms = --[[ guard: own-grace-before-queue-grace ]] tonumber(job.x.grace) or settings.settings_of(job.queue).grace or settings.namespace_setting("lease_grace_ms", 0)
  local has_policy = job.x.retry or job.api == NATIVE_API
  if has_policy or group == "max_run_exceeded" then
    jobs.set_failure(job, group, message, job.x.worker)
  end
  if has_policy then
    local delay = retry_delay.delay_of(job, group)
    -- guard: policy-may-end-the-tries
    return delay and --[[ guard: grace-is-a-minimum ]] math.max(delay, grace_ms)
  end
  return grace_ms
end

local function time_out(job)
  local is_free = job.free_retries < --[[ guard: extended-free-retries-end ]] deliveries.MAX_FREE_RETRIES and deliveries.is_undelivered(sending_key, job.id, pack_job(job))
  local group, message, last_message, delay = "lease_expired", "its lease ran out", "its last lease ran out", 0
  local is_overrun = run_limit.is_run_over(job)
  moves.leave(job)
  if is_overrun then
    group, message = "max_run_exceeded", "it ran for longer than its max_run_ms, " .. text_of(run_limit.limit_of(job))
    last_message = message
    run_limit.end_run(job)
  end
  if --[[ guard: late-run-keeps-its-start ]] not run_limit.limit_of(job) then -- A late heartbeat goes on with the same run.
    jobs.put(job, "leased", nil)
  end
  if is_free then
    job.tries, job.free_retries, job.was_free = math.min(job.tries + 1, 65535), job.free_retries + 1, true
  else
    jobs.put(job, "crashes", tonumber(job.x.crashes or 0) + 1)
    jobs.put(job, "no_handler", nil)
  end
  timeline.log_event("timed_out", job, { worker = job.x.worker, group = is_overrun and group or nil })
  if --[[ guard: free-retry-ignores-backoff ]] not is_free and --[[ guard: cancelled-not-dead ]] not job.x.cancel then
    delay = job.tries > 0 and delay_after_crash(job, group, message)
  end
  if not delay then
    steps.timer_results.died = steps.timer_results.died + 1
    deliveries.count_expired_lease("died", registry.name_of(job.queue))
    dead_jobs.die(job, group, job.tries > 0 and message or last_message, job.x.worker)
    return
  end
  -- A job that is being cancelled ends now: it is not tried again, and its worker does not keep it.
  steps.timer_results.returned, job.is_stalled = steps.timer_results.returned + 1, --[[ guard: cancelled-leaves-worker ]] not job.x.cancel
  -- guard: statistics-cancelled-not-retried
  if not job.x.cancel then
    deliveries.count_expired_lease("returned", registry.name_of(job.queue))
  end
  job.to_front = settings.settings_of(job.queue).front ~= nil
  if delay > 0 then
    jobs.put(job, "front", job.to_front and "1" or nil)
    moves.go(job, SCHEDULED, now_ceil + delay)
  else
    moves.go(job, READY)
  end
end

local function expire(job)
  steps.timer_results.expired = steps.timer_results.expired + 1
  moves.leave(job)
  moves.conclude(job, nil, "expired", timeline.worker_facts(job))
end

-- Jobs whose time is over.
function expire_jobs(_, what)
  for _, id in ipairs(steps.due_in(namespace_key("expiring"), what)) do
    local job = jobs.job_of(id)
    if job and not job.is_gone and is_expired(job) then
      expire(job)
    end
    remove_member(namespace_key("expiring"), id)
  end
end

-- Members of a zset whose time has passed: an expired job is removed, `act` handles
-- the others, and a member without its job is dropped. Jobs that go to the front come last, in reverse: so the first of them stands first.
local function each_due(kind, state, number, what, goes_to_front, act)
  local key, fronts = queue_key(kind, number), {}
  for _, id in ipairs(steps.due_in(key, what)) do
    local job = jobs.job_of(id)
    if not job or job.is_gone or not is_extended(job) or job.state ~= state then
      remove_member(key, id)
    elseif is_expired(job) then
      expire(job)
    elseif goes_to_front(job) then
      table.insert(fronts, --[[ guard: front-keeps-order ]] 1, job)
    else
      act(job)
    end
  end
  for _, job in ipairs(fronts) do
    act(job)
  end
end

local function was_sent_to_front(job)
  return job.x.front ~= nil
end

local function has_front_queue(job)
  return settings.settings_of(job.queue).front ~= nil
end

-- Scheduled jobs that are due.
function make_due(number, what)
  each_due("S", SCHEDULED, number, what, was_sent_to_front, function(job)
    local to_front = was_sent_to_front(job)
    steps.timer_results.due = steps.timer_results.due + 1
    moves.leave(job)
    if job.x.waits then
      dependencies.block(job)
    else
      job.to_front, job.is_stalled = --[[ guard: waiting-goes-to-front ]] to_front, --[[ guard: backoff-stays-stalled ]] true
      moves.set_ready(job)
    end
  end)
end

-- Leases that expired.
function time_out_leases(number, what)
  each_due("L", LEASED, number, what, has_front_queue, time_out)
end

-- A job whose worker was asked to stop, and did not within cancel_grace_ms.
function end_grace(id, what)
  local job = jobs.job_of(id)
  steps.use_steps(1)
  remove_member(steps.timers_key, what)
  -- guard: cancel-grace-ends-lease
  if job and not job.is_gone and job.state == LEASED and job.x.cancel then
    moves.leave(job)
    moves.revoke(job)
  end
end
