--[[
Give leases back whose responses did not reach the worker: to the front of their ready lists, with the try, the lease number not lowered. A job that
has expired, moved on or been leased again stays as it is.

KEYS meta, waiting, expiries
ARGV clock_ms, deadline_ms
ITEM id, lease

Returns {status, now_ms, codes}. Codes: a digit per item: 1 given back, 0 unchanged, 2 use the extended path.
Cost: O(log N) per item.
]]

--- @requires core/call, core/header, queues/notify, jobs/deliveries

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

redis.call("EXISTS", meta, expiries)
local codes = {}
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local is_ours, is_extended_one = deliveries.plan_return(ARGV[i], tonumber(ARGV[i + 1]), true)
  codes[#codes + 1] = is_extended_one and 2 or is_ours and 1 or 0
end
deliveries.write_returns(expiries)
return { 0, now_floor, table.concat(codes) }
