--[[
Make a job of a recurring job now, outside of its schedule, also while it is paused.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, id, revision, quotas
revision: text  the one that makes the job; "" = any
quotas: text  as in extended/publish

Returns {status, now_ms, reason, made, next_ms}. Reason: "" it is made, "missing" there is no such recurring job, "changed" it has another
revision by now, or why there is no job: "quota",
"unique_key", "overlap", "missing_dependency". Made: its number. Next_ms: the earliest timer, 0 = none.
Cost: O(log N).
]]

--- @requires core/call, core/plan, queues/notify, queues/registry, limits/quota_room, limits/store_room, extended/jobs, extended/unique_claims, extended/commit
--- @requires timers/steps, timers/recurring, timers/next_recurring

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)
if not registry.read_last_queue() then
  return { 2, now_floor }
end
quota_room.start_quotas(quotas)

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local definition = recurring.recurring_of(id)
if not definition then
  return { 0, now_floor, "missing", 0, 0 }
elseif revision ~= "" and --[[ guard: recurring-run-names-its-revision ]] redis.call("HGET", named_key("R", id), "revision") ~= revision then
  return { 0, now_floor, "changed", 0, 0 }
elseif --[[ guard: recurring-run-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
local child, reason = next_recurring.spawn_next(id, definition, now_floor)
if not child then
  local code, present = quota_room.first_refusal()
  return { 0, now_floor, reason, code, tonumber(present or 0) }
end

-- Write.
recurring.save_number(id, definition)
unique_claims.place_debounced()
table.insert(plan.early, registry.write_new_queues)
return { 0, now_floor, "", definition.made, commit(expiries) }
