--[[
The clock of the full lane: sees to what is due, in up to limit steps. Each timer has a letter that says of what, and the rest of its
name: S and L with a queue's number, scheduled jobs and leases; E, what expires; Z, what was kept long enough; R, recurring jobs; with an
id, U, those that wait for a job that ended, N, what a job is to be tied to, and G, the end of its owner's grace.
Keys of jobs are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
KEYS[6] sending      hash: record -> leases whose answers may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] limit        jobs to look at, at most
ARGV[4] quotas       as full_put's; recurring jobs must keep to them

Returns {status, now_ms, next_ms, due, returned, died, expired, earliest_ms, N, (queue, jobs made) × N, (queue, returned, died) × M}.
Status: 0 done, 1 too late, 2 the namespace is not registered. Next_ms: when to come back, 0 = nothing to wait for, in the past = at
once. Earliest_ms: the oldest time that was served, 0 = none.
Cost: O(limit log N).
]]
local meta, queues, due, waiting, expiries, sending = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock_ms, deadline_ms, limit, quotas = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

--- @include "lib/full"
--- @include "lib/full/free"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

--- @include "lib/new_queues"
local counts, made, timers, earliest = { due = 0, returned = 0, died = 0, expired = 0 }, {}, space_key("timers"), 0
--- @include "lib/full/clock"
--- @include "lib/lapses"
local place_waiters, place_all
-- In blocks of their own, for a script has 200 local names.
do
--- @include "lib/unheard"
--- @include "lib/full/time_out"
--- @include "lib/full/expire"
--- @include "lib/full/due"
--- @include "lib/full/limit_bells"
--- @include "lib/full/retention"
end
do
--- @include "lib/full/few"
--- @include "lib/full/hear"
--- @include "lib/full/release"
--- @include "lib/full/tying"
--- @include "lib/full/grace"
--- @include "lib/full/forget"
end
do
--- @include "lib/jobs_in"
--- @include "lib/quotas"
--- @include "lib/full/room"
--- @include "lib/full/new"
--- @include "lib/full/debounce"
place_all = place_debounced
--- @include "lib/full/claim_key"
--- @include "lib/full/ids"
--- @include "lib/full/taken"
--- @include "lib/full/slots"
--- @include "lib/full/defaults"
--- @include "lib/full/spawn"
--- @include "lib/full/recur"
end

-- Look.
redis.call("EXISTS", meta, due, waiting, expiries, sending, timers)
local found = redis.call("ZRANGEBYSCORE", timers, "-inf", now_floor, "WITHSCORES", "LIMIT", 0, 32)
for i = 1, #found, 2 do
  if limit > 0 then
    earliest = i == 1 and tonumber(found[2]) or earliest
    ring(string.sub(found[i], 1, 1), string.sub(found[i], 2))
  end
end

-- Write.
place_waiters()
table.insert(marks, write_new_queues)
place_all()
commit()
local next_ms = redis.call("ZRANGE", timers, 0, 0, "WITHSCORES")[2]
if next_ms then
  redis.call("ZADD", due, next_ms, FULL_LANE)
else
  redis.call("ZREM", due, FULL_LANE)
end
local reply = { 0, now_floor, tonumber(next_ms or 0), counts.due, counts.returned, counts.died, counts.expired, earliest, 0 }
for name, jobs_made in pairs(made) do
  reply[9], reply[#reply + 1], reply[#reply + 2] = reply[9] + 1, name, jobs_made
end
return with_lapses(reply)
