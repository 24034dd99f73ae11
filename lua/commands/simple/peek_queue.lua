--[[
Show the job at the head of a queue's ready list; changes nothing. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] skip         entries of the list already looked at

Returns {status, now_ms, looked, id, value, attributes}. Status: 0 done, 1 too late. Id "" = no live job among the entries looked at;
looked = 0: the end of the list. Value: header, then the body.
Cost: O(skip + 200).
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, queue, skip = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

--- @requires core/call, core/header, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = find_queue(queue)
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
