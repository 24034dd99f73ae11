--[[
Run the timers of the extended path that are due, in up to limit steps. The name of a timer is a letter, and what it is for: S and L with a queue's
number, scheduled jobs and leases; E, jobs that expire; Z, retention; R, recurring jobs; P and K, limits; W and T, workers and tracked jobs; with
an id, U, dependents of a job that ended, N, dependencies that are still to be stored, and G, the end of cancel_grace_ms.
Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
KEYS[6] sending      hash: record -> leases whose responses may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] limit        jobs to look at, at most
ARGV[4] quotas       as in extended/publish; recurring jobs must keep to them

Returns {status, now_ms, next_ms, due, returned, died, expired, earliest_ms, N, (queue, jobs made) × N, (queue, returned, died) × M}.
Status: 0 done, 1 too late, 2 the namespace is not registered. Next_ms: when to call again, 0 = nothing to wait for, in the past = at
once. Earliest_ms: the oldest time that was served, 0 = none.
Cost: O(limit log N).
]]
local meta, queues, due, waiting, expiries, sending = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock_ms, deadline_ms, limit, quotas = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

--- @requires core/call, queues/registry, jobs/deliveries, limits/quotas, queues/job_counts

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
--- @include "base"
--- @include "unblock"

if not read_last_queue() then
  return { 2, now_floor }
end

local counts, made, timers, earliest = { due = 0, returned = 0, died = 0, expired = 0 }, {}, namespace_key("timers"), 0
--- @include "timers"
local place_waiters, place_all
-- In blocks of their own, because a function has at most 200 local names.
do
--- @include "retry_delay"
--- @include "time_out"
--- @include "expire"
--- @include "due_jobs"
--- @include "limit_timers"
--- @include "retention"
end
do
--- @include "some_of"
--- @include "dependency_ended"
--- @include "release_dependents"
--- @include "tie_timer"
--- @include "cancel_grace"
--- @include "forget_old"
end
do
--- @include "quota_room"
--- @include "new_job"
--- @include "debounce"
place_all = place_debounced
--- @include "claim_unique_key"
--- @include "id_list"
--- @include "taken"
--- @include "recurring_slots"
--- @include "defaults"
--- @include "spawn"
--- @include "recurring"
end

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries, sending, timers)
local found = redis.call("ZRANGEBYSCORE", timers, "-inf", now_floor, "WITHSCORES", "LIMIT", 0, 32)
for i = 1, #found, 2 do
  if limit > 0 then
    earliest = i == 1 and tonumber(found[2]) or earliest
    fire(string.sub(found[i], 1, 1), string.sub(found[i], 2))
  end
end

-- Write.
place_waiters()
table.insert(early_steps, write_new_queues)
place_all()
--- @include "count_failed_dependents"
commit()
local next_ms = redis.call("ZRANGE", timers, 0, 0, "WITHSCORES")[2]
if next_ms then
  redis.call("ZADD", due, next_ms, EXTENDED_TIMERS)
else
  redis.call("ZREM", due, EXTENDED_TIMERS)
end
local reply = { 0, now_floor, tonumber(next_ms or 0), counts.due, counts.returned, counts.died, counts.expired, earliest, 0 }
for name, jobs_made in pairs(made) do
  reply[9], reply[#reply + 1], reply[#reply + 2] = reply[9] + 1, name, jobs_made
end
return with_expired_leases(reply)
