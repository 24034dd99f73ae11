--[[
Remove a recurring job; the jobs that it made stay.

KEYS meta
ARGV clock_ms, deadline_ms, id

Returns {status, now_ms, removed}. Removed: 1, or 0: there was none.
Cost: O(log N).
]]

--- @requires core/call, core/handovers, limits/recurring_bytes

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, named_key("R", id), namespace_key("recurring"), namespace_key("cron"), namespace_key("schedules"))
local from = redis.call("HGET", named_key("R", id), "from")
if from then
  refuse_handover(from, "removed")
end
-- guard: removed-recurring-frees-bytes
recurring_bytes.uncount_recurring(named_key("R", id))
redis.call("ZREM", namespace_key("recurring"), id)
redis.call("ZREM", namespace_key("cron"), id)
redis.call("ZREM", namespace_key("schedules"), id)
return { 0, now_floor, redis.call("DEL", named_key("R", id)) }
