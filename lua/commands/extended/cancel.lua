--[[
Cancel jobs, all or none: one that waits, or is dead, ends now; the worker of a leased one is asked to stop, and loses its lease after grace_ms. Those
that are gone or have ended stay as they are.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, cascade, grace_ms
ITEM id
cascade: text      "1": with all jobs that depend on them, whatever their policy
grace_ms: integer  how long a worker may go on, ms

Returns {status, now_ms, next_ms, (code, at_ms) × N, id × M}. Next_ms: the earliest timer that was set, 0 = none.
Code: 0 no such job, 1 cancelled, 2 its worker loses the lease at at_ms, 3 it is done, 4 it was cancelled before, 5 jobs that are not named depend on
it: some of those, of all items together, are the ids. If there is a 5, nothing has changed, and no other code but 5 counts.
Cost: O(log N) per item.
]]

--- @requires core/call, core/header, core/plan, queues/notify
--- @requires extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/commit, jobs/dependents

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

-- The code of a job that is not there any more to be cancelled; nil = it is.
local function code_of(job)
  if not job or job.is_gone or is_expired(job) then
    return 0
  --[[ guard: done-not-cancelled ]] elseif job.state == DONE or job.state == CANCELLED then
    return job.state == DONE and 3 or 4
  end
end

-- Returns the code, and when its worker loses the lease.
local function cancel(job)
  if job.state == LEASED and grace_ms > 0 then
    local at, timers, known = now_ceil + grace_ms, namespace_key("timers"), "G" .. job.id
    if job.x.cancel then -- A second call does not give more time.
      at = math.min(at, tonumber(redis.call("ZSCORE", timers, known)) or at)
    else -- A timer from before the job died and was put back.
      remove_member(timers, known)
    end
    conversion.make_extended(job)
    jobs.put(job, "cascade", cascade == "1" and "1" or job.x.cascade)
    jobs.put(job, "cancel", job.x.cancel or now_floor)
    set_timer(known, at)
    timeline.log_event("cancel_requested", job, { revoked_at = at, worker = job.x.worker })
    return 2, at
  end
  local was_leased = job.state == LEASED
  jobs.put(job, "cascade", job.x.users and cascade == "1" and "1" or job.x.cascade)
  moves.leave(job)
  if was_leased then
    conversion.make_extended(job, true)
    moves.revoke(job)
  else
    moves.conclude(job, CANCELLED, "cancelled")
  end
  return 1, 0
end

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local reply, named, others, shown = { 0, now_floor, 0 }, {}, {}, {}
for i = FIRST_ITEM, #ARGV do
  named[ARGV[i]] = true
end
for i = FIRST_ITEM, #ARGV do
  local job, code = jobs.job_of(ARGV[i]), 0
  for _, id in ipairs(cascade ~= "1" and --[[ guard: ended-jobs-stop-no-cancel ]] not code_of(job) and dependents.dependents_of(job) or {}) do
    -- guard: cancel-many-together
    if not named[id] then
      code, others[#others + 1] = 5, --[[ guard: cancel-many-names-once ]] not shown[id] and #others < dependents.MOST_SHOWN and id or nil
      shown[id] = true
    end
  end
  reply[#reply + 1], reply[#reply + 2] = code, 0
end
-- guard: needed-not-cancelled-alone
if #others > 0 then
  for _, id in ipairs(others) do
    reply[#reply + 1] = id
  end
  -- guard: cancel-many-outside-dependent
  return reply
end
for i = FIRST_ITEM, #ARGV do
  local job, at = jobs.job_of(ARGV[i]), 0
  local code = code_of(job)
  if not code then
    code, at = cancel(job)
  end
  reply[2 * i - 6], reply[2 * i - 5] = code, at
end

-- Write.
reply[3] = commit(expiries)
return reply
