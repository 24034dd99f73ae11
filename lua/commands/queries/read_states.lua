--[[
Show the states of jobs, for callers that wait for their end; changes nothing. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   id

Returns {status, now_ms, states}. Status: 0 done, 1 too late. States: a digit per item, as in a header; 0 = no such job.
Cost: O(1) per item.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local states = {}
for i = 3, #ARGV do
  local job = read_job(ARGV[i])
  states[#states + 1] = job and not is_expired(job) and job.state or 0
end
return { 0, now_floor, table.concat(states) }
