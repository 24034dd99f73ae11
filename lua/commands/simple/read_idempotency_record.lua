--[[
What was stored under an idempotency key: its record (jobs/publish). The namespace may be forgotten when all its jobs are done; the record is good all
the same.

KEYS meta
ARGV clock_ms, deadline_ms, digest, fingerprint
digest: text  16 bytes: names the record

Returns {status, now_ms, found, stored}. Found: 0 no record, 1 that of this request, see stored, 2 that of another one.
Cost: O(1).
]]

--- @requires core/call, jobs/idempotency

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local record = idempotency.read_idempotency_record(digest, fingerprint)
if not record then
  return { 0, now_floor, 0, "" }
end
return { 0, now_floor, record.is_same and 1 or 2, record.stored }
