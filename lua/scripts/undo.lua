--[[
Give leases back whose answers reached nobody: to the front of their lines, the try not spent, the lease number not lowered. A job
that has expired, moved on or been leased anew stays as it is. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[3] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   id, lease

Returns {status, now_ms, codes}. Status: 0 done, 1 too late. Codes: a digit per item: 1 given back, 0 left alone, 2 rich:
ask the full lane.
Cost: O(log N) per item.
]]
local meta, waiting, expiries = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/events"
--- @include "lib/give_back"

redis.call("EXISTS", meta, expiries)
local codes = {}
for i = 3, #ARGV, 2 do
  local is_ours, is_rich_one = plan_return(ARGV[i], tonumber(ARGV[i + 1]))
  codes[#codes + 1] = is_rich_one and 2 or is_ours and 1 or 0
end
write_returns()
return { 0, now_floor, table.concat(codes) }
