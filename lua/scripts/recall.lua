--[[
Give the leases of one record back, whose answers never came into being: the reply of their reserve was lost. To the front of their
lines, the try not spent, as undo does it. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[3] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
KEYS[4] sending      hash: record -> leases whose answers may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] record       its name
ARGV[4] left_ms      when the last lease of the record before ends, whose answers have left: if it stands there still, the reserve did not run,
                     or found nothing. 0 = there was none

Returns {status, now_ms, found, given}. Status: 0 done, 1 too late. Found: 1, or 0 if there is no such record. Given: leases given back.
Cost: O(log N) per lease of the record.
]]
local meta, waiting, expiries, sending = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock_ms, deadline_ms, record, left_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/events"
--- @include "lib/give_back"

local packed = redis.call("HGET", sending, record)
local batch = packed and cmsgpack.unpack(packed)
if not batch or batch[1] == left_ms then
  return { 0, now_floor, 0, 0 }
end
redis.call("EXISTS", meta, expiries, sending)
for i = 2, #batch, 2 do
  plan_return(batch[i + 1], (struct.unpack(">I4", batch[i], 5)))
end

redis.call("HDEL", sending, record)
write_returns()
return { 0, now_floor, 1, #given, unpack(others) }
