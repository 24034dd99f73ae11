--[[
Tell in which state jobs are, for those who wait for their end; changes nothing. Keys of jobs are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   id

Returns {status, now_ms, states}. Status: 0 done, 1 too late. States: a digit per item, as in a header; 0 = no such job.
Cost: O(1) per item.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"

local states = {}
for i = 3, #ARGV do
  local job = read_job(ARGV[i])
  states[#states + 1] = job and not is_expired(job) and job.state or 0
end
return { 0, now_floor, table.concat(states) }
