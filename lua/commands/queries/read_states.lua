--[[
Show the states of jobs, for callers that wait for their end; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, states}. States: a digit per item, as in a header; 0 = no such job.
Cost: O(1) per item.
]]

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local states = {}
for i = FIRST_ITEM, #ARGV do
  local job = read_job(ARGV[i])
  states[#states + 1] = job and not is_expired(job) and job.state or 0
end
return { 0, now_floor, table.concat(states) }
