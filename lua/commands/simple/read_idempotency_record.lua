--[[
What was stored under an idempotency key: its record (jobs/publish). The namespace may be forgotten when all its jobs are done; the record is
good all the same. Its key is built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker; only its name is used
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] digest       16 bytes: names the record
ARGV[4] fingerprint  16 bytes, of the request

Returns {status, now_ms, found, stored}. Status: 0 done, 1 too late. Found: 0 no record, 1 that of this request, see stored, 2 that of another one.
Cost: O(1).
]]
local meta = KEYS[1]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local digest, fingerprint = ARGV[3], ARGV[4]

--- @requires core/call, jobs/idempotency

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local record = read_idempotency_record(digest, fingerprint)
if not record then
  return { 0, now_floor, 0, "" }
end
return { 0, now_floor, record.is_same and 1 or 2, record.stored }
