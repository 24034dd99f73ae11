--[[
List jobs by their ids, in any state and queue; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, (id, header, queue, score, fields) × N}, in order, without those that do not exist. Score: in the index of the job's state,
"" = none. Fields: JSON.
Cost: O(log N) per item.
]]

--- @requires core/call, core/header, queues/registry, extended/indexes, jobs/filters

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  local id, n = ARGV[i], #reply
  local job = read_job(id)
  local fields = job and not is_expired(job) and filters.fields_of(job, id)
  if fields then
    local kind = indexes.kind_of(job)
    reply[n + 1], reply[n + 2], reply[n + 3] = id, pack_job(job), registry.name_of(job.queue) or ""
    reply[n + 4], reply[n + 5] = kind and redis.call("ZSCORE", queue_key(kind, job.queue), id) or "", cjson.encode(fields)
  end
end
return reply
