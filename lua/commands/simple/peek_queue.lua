--[[
Show the job at the head of a queue's ready list; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, skip
skip: integer  entries of the list already looked at

Returns {status, now_ms, looked, id, value, attributes}. Id "" = no live job among the entries looked at; looked = 0: the end of the list. Value:
header, then the body.
Cost: O(skip + 200).
]]

--- @requires core/call, core/header, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if number then
  redis.call("EXISTS", meta, queue_key("r", number))
end
local entries = number and redis.call("LRANGE", queue_key("r", number), skip, skip + 199) or {}
for _, entry in ipairs(entries) do
  local id = string.sub(entry, 1, -2)
  local job = entry ~= "" and read_job(id)
  if is_live_entry(job, entry, number) and not is_expired(job) then
    local attributes = job.flags % 2 == HAS_EXTRAS and redis.call("HGET", extras_key(id), "attributes") or ""
    return { 0, now_floor, #entries, id, redis.call("GET", job_key(id)), attributes }
  end
end
return { 0, now_floor, #entries, "", "", "" }
