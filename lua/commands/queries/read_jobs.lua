--[[
Show all that is known of a job, whatever its state and queue; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, (value, queue, score, extras, needs, users, failed, dependencies) × N}. Value: header, then the body; "" = no such job. Score: in the index
of its state, "" = none. Extras: a flat list of fields and values; needs, users: lists of ids, of users 100 at most; failed: a flat list of failed
dependencies, and how those ended. Dependencies: jobs/dependency_results.
Cost: O(N) per item, of what the job has.
]]

--- @requires core/call, jobs/whole_job

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  for _, part in ipairs((whole_job(ARGV[i]))) do
    reply[#reply + 1] = part
  end
end
return reply
