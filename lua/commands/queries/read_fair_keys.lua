--[[
Read some fair keys of a queue; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue
ITEM name
name: of the key as queries/count_fair_keys has it.

Returns {status, now_ms, (key, jobs, oldest_ms) × N}. Key: "" = it has no ready job any more. Oldest_ms: when the first job of each of up to 8
priorities was published, the earliest of these times, Unix ms; 0 = not known.
Cost: O(log N) per item.
]]

--- @requires core/call, core/header, queues/registry, queues/fair_keys, queues/oldest_jobs

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number, reply = registry.find_queue(queue), { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  local list, n = fair_keys.fair_list_key(number or 0, ARGV[i]), #reply
  redis.call("EXISTS", meta, list)
  local id = redis.call("ZRANGE", list, 0, 0)[1]
  local fields = id and redis.call("HMGET", extras_key(id), "fair", "ckey") or {}
  local oldest = id and oldest_jobs.oldest_by_priority(list) or math.huge
  reply[n + 1], reply[n + 2], reply[n + 3] = fields[1] or fields[2] or "", redis.call("ZCARD", list), oldest < math.huge and oldest or 0
end
return reply
