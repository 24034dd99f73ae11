--[[
Remove a recurring job; the jobs that it made stay.

KEYS meta
ARGV clock_ms, deadline_ms, id, revision
revision: text  the one that is removed; "" = any

Returns {status, now_ms, removed}. Removed: 1, or 0: there was none, or 2: it has another revision by now.
Cost: O(log N).
]]

--- @requires core/call, core/handovers, limits/recurring_bytes

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, named_key("R", id), namespace_key("recurring"), namespace_key("cron"), namespace_key("schedules"))
local known = redis.call("HMGET", named_key("R", id), "revision", "from")
if revision ~= "" and --[[ guard: recurring-removal-names-its-revision ]] known[1] ~= revision then
  return { 0, now_floor, known[1] and 2 or 0 }
end
local from = known[2]
if from then
  refuse_handover(from, "removed")
end
-- guard: removed-recurring-frees-bytes
recurring_bytes.uncount_recurring(named_key("R", id))
redis.call("ZREM", namespace_key("recurring"), id)
redis.call("ZREM", namespace_key("cron"), id)
redis.call("ZREM", namespace_key("schedules"), id)
return { 0, now_floor, redis.call("DEL", named_key("R", id)) }
