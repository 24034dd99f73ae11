--[[
Give the leases of one delivery record back: the reply of the script that leased them was lost. To the front of their ready lists, with the try, as
undo does it.

KEYS meta, waiting, expiries, sending
ARGV clock_ms, deadline_ms, record, left_ms
record: text      its name
left_ms: integer  when the last lease of the record before ends, whose responses have left: if it is there still, the script did not run or leased
                  nothing. 0 = there was none

Returns {status, now_ms, found, returned, (id, lease) × N}. Found: 1, or 0 if there is no such record. Returned: leases given back. Ids and leases:
those that the extended path must give back.
Cost: O(log N) per lease of the record.
]]

--- @requires core/call, core/header, queues/notify, jobs/deliveries

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

-- Read.
local packed = redis.call("HGET", sending, record)
local batch = packed and cmsgpack.unpack(packed)
if not batch or --[[ guard: reclaim-skips-delivered ]] batch[1] == left_ms then
  return { 0, now_floor, 0, 0 }
end
redis.call("EXISTS", meta, expiries, sending)
for i = 2, #batch, 2 do
  deliveries.plan_return(batch[i + 1], (struct.unpack(LEASE, batch[i], LEASE_FROM - TRIES_FROM + 1)))
end

-- Write.
redis.call("HDEL", sending, record)
deliveries.write_returns(expiries)
return { 0, now_floor, 1, #deliveries.planned_returns, unpack(deliveries.extended_leases) }
