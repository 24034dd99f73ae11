--[[
Show the job at the head of a queue's ready list, or, if none is there, one that has a priority, a type or a fair key; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, skip
skip: integer  entries of the list already looked at

Returns {status, now_ms, looked, id, value, attributes}. Id "" = no live job among the entries looked at; looked = 0: the end of the list. Value:
header, then the body.
Cost: O(skip + 200).
]]

--- @requires core/call, core/header, queues/registry, queues/type_keys, queues/fair_keys

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if number then
  redis.call("EXISTS", meta, queue_key("r", number), queue_key("p", number), queue_key("D", number))
end
local entries = number and redis.call("LRANGE", queue_key("r", number), skip, skip + 199) or {}
local function answer(id, job)
  local attributes = job.flags % 2 == HAS_EXTRAS and redis.call("HGET", extras_key(id), "attributes") or ""
  return { 0, now_floor, #entries, id, redis.call("GET", job_key(id)), attributes }
end
for _, entry in ipairs(entries) do
  local id = string.sub(entry, 1, -2)
  local job = entry ~= "" and read_job(id)
  if is_live_entry(job, entry, number) and not is_expired(job) then
    return answer(id, job)
  end
end
if #entries == 0 and registry.is_extended_queue[queue] then
  local type = redis.call("ZRANGE", type_keys.directory_key(number), 0, 0)[1]
  local name = redis.call("ZRANGE", fair_keys.turns_key(number), 0, 0)[1]
  local keys = { type_keys.list_key(number) }
  keys[#keys + 1] = type and type_keys.list_key(number, type)
  keys[#keys + 1] = name and fair_keys.fair_list_key(number, name)
  for _, key in ipairs(keys) do
    redis.call("EXISTS", meta, key)
    local id = redis.call("ZRANGE", key, 0, 0)[1]
    local job = id and read_job(id)
    if job and not is_expired(job) then
      return answer(id, job)
    end
  end
end
return { 0, now_floor, #entries, "", "", "" }
