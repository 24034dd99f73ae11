--[[
Record that lease requests named queues, or types of their jobs.

KEYS meta, requested
ARGV clock_ms, deadline_ms
ITEM flag, worker
flag: text    as requests that wait are registered: a queue, or a queue and a type (queues/notify)
worker: text  of the request, "" = it gave no name

Returns {status, now_ms}. Status: 0 done, or nothing to record because the namespace is not registered; 1 too late.
Cost: O(log N) per item.
]]

--- @adds
--- @requires core/call, queues/lease_requests

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
if redis.call("EXISTS", meta) == 0 then
  return { 0, now_floor }
end
redis.call("EXISTS", meta, requested, lease_requests.requesters_key())
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  lease_requests.record_lease_request(requested, ARGV[i], ARGV[i + 1])
end
return { 0, now_floor }
