--[[
Show a job of a queue, whatever its state; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, id

Returns {status, now_ms, value, attributes, group}. Value: header, then the body; "" = no such job in this queue. Group: of its last failure, "" = none.
Cost: O(1).
]]

--- @requires core/call, core/header, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
local value = number and (redis.call("GET", job_key(id)) or assert_slot_stable(id))
local job = value and unpack_job(value)
if not job or job.queue ~= number or is_expired(job) then
  return { 0, now_floor, "", "", "" }
end
local extras = job.flags % 2 == HAS_EXTRAS and redis.call("HMGET", extras_key(id), "attributes", "fgroup") or {}
return { 0, now_floor, value, extras[1] or "", extras[2] or "" }
