--[[
Cancel a job: one that waits, or is dead, ends now; the worker of a leased one is asked to stop, and loses its lease after grace_ms. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] id           the job's
ARGV[4] cascade      "1": with all jobs that depend on it, whatever their policy
ARGV[5] grace_ms     how long its worker may go on, ms

Returns {status, now_ms, next_ms, code, at_ms, id × N}. Status: 0 done, 1 too late. Next_ms: the earliest timer that was set, 0 = none.
Code: 0 no such job, 1 cancelled, 2 its worker loses the lease at at_ms, 3 it is done, 4 it was cancelled before, 5 jobs depend on it: some of
them are the ids. With 0, 3, 4 and 5 nothing has changed.
Cost: O(log N).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, id, cascade, grace_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])

--- @requires core/call, core/header, core/plan, queues/notify
--- @requires extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/commit, jobs/dependents

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
start_plan(due)

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local job = job_of(id)
if not job or is_expired(job) then
  return { 0, now_floor, 0, 0, 0 }
elseif job.state == DONE or job.state == CANCELLED then
  return { 0, now_floor, 0, job.state == DONE and 3 or 4, 0 }
end
local dependents = cascade ~= "1" and dependents_of(job) or {}
if #dependents > 0 then
  return { 0, now_floor, 0, 5, 0, unpack(dependents) }
end
local code, at = 1, now_ceil + grace_ms
if job.state == LEASED and grace_ms > 0 then
  code = 2
  local timers, known = namespace_key("timers"), "G" .. id
  if job.x.cancel then -- A second call does not give more time.
    at = math.min(at, tonumber(redis.call("ZSCORE", timers, known)) or at)
  else -- A timer from before the job died and was put back.
    free("ZREM", timers, known)
  end
  make_extended(job)
  put(job, "cascade", cascade == "1" and "1" or job.x.cascade)
  put(job, "cancel", job.x.cancel or now_floor)
  set_timer(known, at)
  log_event("cancel_requested", job, { revoked_at = at, worker = job.x.worker })
else
  local was_leased = job.state == LEASED
  put(job, "cascade", job.x.users and cascade == "1" and "1" or job.x.cascade)
  leave(job)
  if was_leased then
    make_extended(job, true)
    revoke(job)
  else
    conclude(job, CANCELLED, "cancelled")
  end
end

-- Write.
local next_ms = commit(expiries)
return { 0, now_floor, next_ms, code, code == 2 and at or 0 }
