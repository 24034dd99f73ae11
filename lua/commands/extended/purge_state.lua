--[[
Remove jobs of a queue that are in a state, one bounded step of it; or only look how many there are. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] state        the number of the state (core/header)
ARGV[5] limit        jobs to look at, at most
ARGV[6] skip         of jobs that are kept when they have ended, how many were skipped
ARGV[7] removes      "0" = only look at jobs that have ended

Returns {status, now_ms, looked, matched, kept, next_ms}. Status: 0 done, 1 too late. Looked 0: there are no more. Matched: removed, or
only looked at. Kept: of those that have ended, how many stay where they are. Next_ms: the earliest timer that was set, 0 = none.
Cost: O(limit log N).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, queue, state, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local skip, removes = tonumber(ARGV[6]), ARGV[7]

--- @requires core/call, queues/ready_list_reader, jobs/schedule

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
--- @include "base"
--- @include "list_reader"

local number = find_queue(queue)
if not number then
  return { 0, now_floor, 0, 0, 0, 0 }
end
names[number] = queue
--- @include "purge"
--- @include "purge_lists"

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
for kind in string.gmatch(PLACES[state], ".") do
  places[kind](kind)
end

-- Write.
local next_ms = commit()
return { 0, now_floor, seen + looked, matched, passed, next_ms }
