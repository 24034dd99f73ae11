--[[
Show the queue and the state of each job; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, (name, state) × N}. Name: of the job's queue; "" = no such job. State: as in a header.
Cost: O(1) per item.
]]

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply, names = { 0, now_floor }, {}
for i = FIRST_ITEM, #ARGV do
  local job = read_job(ARGV[i])
  local number, n = job and not is_expired(job) and job.queue, #reply
  if number and not names[number] then
    names[number] = redis.call("HGET", queue_key("i", number), "name") or ""
  end
  reply[n + 1], reply[n + 2] = number and names[number] or "", number and job.state or 0
end
return reply
