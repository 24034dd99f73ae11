--[[
Show a job of a queue, whatever its state; changes nothing. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] id           the job's

Returns {status, now_ms, value, attributes}. Status: 0 done, 1 too late. Value: header, then the body; "" = no such job in this queue.
Cost: O(1).
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, queue, id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

--- @requires core/call, core/header, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = find_queue(queue)
local value = number and (redis.call("GET", job_key(id)) or assert_slot_stable(id))
local job = value and unpack_job(value)
if not job or job.queue ~= number or is_expired(job) then
  return { 0, now_floor, "", "" }
end
local attributes = job.flags % 2 == HAS_EXTRAS and redis.call("HGET", extras_key(id), "attributes") or ""
return { 0, now_floor, value, attributes }
