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

--- @requires core/call, core/plan, queues/notify, extended/jobs, extended/cancels, extended/commit, jobs/dependents

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local reply, named, others, is_needed = { 0, now_floor, 0 }, {}, {}, false
for i = FIRST_ITEM, #ARGV do
  named[ARGV[i]] = true
end
for i = FIRST_ITEM, #ARGV do
  local job, code = jobs.job_of(ARGV[i]), 0
  if cascade ~= "1" and --[[ guard: ended-jobs-stop-no-cancel ]] not cancels.ended_code(job) and dependents.has_others(job, named, others) then
    code, is_needed = 5, true
  end
  reply[#reply + 1], reply[#reply + 2] = code, 0
end
-- guard: needed-not-cancelled-alone
if is_needed then
  for _, id in ipairs(others) do
    reply[#reply + 1] = id
  end
  -- guard: cancel-many-outside-dependent
  return reply
end
for i = FIRST_ITEM, #ARGV do
  local job, at = jobs.job_of(ARGV[i]), 0
  local code = cancels.ended_code(job)
  if not code then
    code, at = cancels.cancel_job(job, cascade == "1", grace_ms)
  end
  reply[2 * i - 6], reply[2 * i - 5] = code, at
end

-- Write.
reply[3] = commit(expiries)
return reply
