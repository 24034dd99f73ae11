--[[
Cancel a job: one that waits, or is dead, ends now; the owner of a leased one is told, and loses it when his grace is over. Keys of jobs
are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] id           the job's
ARGV[4] cascade      "1": with all that depend on it, whatever they say of its failure
ARGV[5] grace_ms     how long its owner may go on, ms

Returns {status, now_ms, next_ms, code, at_ms, id × N}. Status: 0 done, 1 too late. Next_ms: the earliest timer that was set, 0 = none.
Code: 0 no such job, 1 cancelled, 2 its owner loses it at at_ms, 3 it is done, 4 it was cancelled before, 5 jobs depend on it: some of
them are the ids. With 0, 3, 4 and 5 nothing has changed.
Cost: O(log N).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, id, cascade, grace_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])

--- @include "lib/full"
--- @include "lib/full/dependents"

-- Look.
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
  local timers, known = space_key("timers"), "G" .. id
  if job.x.cancel then -- Whoever asks again does not give more time.
    at = math.min(at, tonumber(redis.call("ZSCORE", timers, known)) or at)
  else -- One of a former life, of which it came back from the dead.
    free("ZREM", timers, known)
  end
  make_rich(job)
  put(job, "cascade", cascade == "1" and "1" or job.x.cascade)
  put(job, "cancel", job.x.cancel or now_floor)
  set_timer(known, at)
  tell("cancel_requested", job, { revoked_at = at })
else
  local was_leased = job.state == LEASED
  put(job, "cascade", job.x.users and cascade == "1" and "1" or job.x.cascade)
  leave(job)
  if was_leased then
    make_rich(job, true)
    revoke(job)
  else
    conclude(job, CANCELLED, "cancelled")
  end
end

-- Write.
local next_ms = commit()
return { 0, now_floor, next_ms, code, code == 2 and at or 0 }
