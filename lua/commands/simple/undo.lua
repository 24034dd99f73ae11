--[[
Give leases back whose responses did not reach the worker: to the front of their ready lists, with the try, the lease number not lowered. A job
that has expired, moved on or been leased again stays as it is. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[3] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   id, lease

Returns {status, now_ms, codes}. Status: 0 done, 1 too late. Codes: a digit per item: 1 given back, 0 unchanged, 2 an extended
job: use the extended path.
Cost: O(log N) per item.
]]
local meta, waiting, expiries = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @requires core/call, core/header, queues/notify, jobs/deliveries

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)

redis.call("EXISTS", meta, expiries)
local codes = {}
for i = 3, #ARGV, 2 do
  local is_ours, is_extended_one = plan_return(ARGV[i], tonumber(ARGV[i + 1]))
  codes[#codes + 1] = is_extended_one and 2 or is_ours and 1 or 0
end
write_returns(expiries)
return { 0, now_floor, table.concat(codes) }
