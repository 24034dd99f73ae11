--[[
Remove members of a queue's set of stale entries that have no entry in its ready list: an older version left them behind, and its counts are too low
by as many. Looks at a random sample. A sweep has dropped all others before.

KEYS meta
ARGV clock_ms, deadline_ms, number
number: integer  the queue's

Returns {status, now_ms, removed}.
Cost: O(200,000) entries of the list, or one whole list.
]]

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local MAX_MEMBERS, MAX_ENTRIES = 64, 200000
local ready, stale = queue_key("r", number), queue_key("g", number)
redis.call("EXISTS", meta, ready, stale)
local most = math.max(math.floor(MAX_ENTRIES / math.max(redis.call("LLEN", ready), 1)), 1)
local gone = {}
for _, entry in ipairs(redis.call("SRANDMEMBER", stale, math.min(most, MAX_MEMBERS))) do
  -- guard: recount-finds-missing-stale
  gone[#gone + 1] = --[[ guard: recount-keeps-present-entries ]] not redis.call("LPOS", ready, entry) and entry or nil
end

-- Write.
return { 0, now_floor, #gone > 0 and redis.call("SREM", stale, unpack(gone)) or 0 }
