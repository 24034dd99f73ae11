--[[
Show the queue and the state of each job; changes nothing. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   id

Returns {status, now_ms, (name, state) × N}. Status: 0 done, 1 too late. Name: of the job's queue; "" = no such job. State: as in a header.
Cost: O(1) per item.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply, names = { 0, now_floor }, {}
for i = 3, #ARGV do
  local job = read_job(ARGV[i])
  local number, n = job and not is_expired(job) and job.queue, #reply
  if number and not names[number] then
    names[number] = redis.call("HGET", queue_key("i", number), "name") or ""
  end
  reply[n + 1], reply[n + 2] = number and names[number] or "", number and job.state or 0
end
return reply
