--[[
Delete a job, in any state but leased, that no job depends on; by force a leased one too, and one with dependents.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, id, force, severs
force: text   "1": also if it is leased
severs: text  "1": also if jobs depend on it, which see a failed dependency

Returns {status, now_ms, next_ms, code, id × N}. Next_ms: the earliest timer that was set, 0 = none. Code: 0 no such job, 1 deleted, 2 it is leased, 3
jobs depend on it: some of them are the ids. With 0, 2 and 3 nothing has changed.
Cost: O(log N).
]]

--- @requires core/call, core/plan, queues/notify, extended/jobs, extended/deletion, extended/moves, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local job = jobs.job_of(id)
local code, dependent_ids = deletion.why_kept(job, force == "1", severs == "1")
if code then
  return { 0, now_floor, 0, code, unpack(dependent_ids or {}) }
end
moves.remove(job)

-- Write.
local next_ms = commit(expiries)
return { 0, now_floor, next_ms, 1 }
