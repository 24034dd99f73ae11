--[[
Make a job of a recurring job now, outside of its schedule, also while it is paused. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] id           of the recurring job
ARGV[4] quotas       as in extended/publish

Returns {status, now_ms, reason, made, next_ms}. Status: 0 done, 1 too late, 2 the namespace is not registered. Reason: "" it is made, "missing" there
is no such recurring job, or why there is no job: "quota", "unique_key", "overlap". Made: its number. Next_ms: the earliest timer, 0 = none.
Cost: O(log N).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, id, quotas = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

--- @requires core/call, core/plan, queues/notify, queues/registry, limits/quota_room, limits/store_room, extended/jobs, extended/unique_claims, extended/commit
--- @requires timers/steps, timers/recurring

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
start_plan(due)
if not read_last_queue() then
  return { 2, now_floor }
end
start_quotas(quotas)

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local recurring = recurring_of(id)
if not recurring then
  return { 0, now_floor, "missing", 0, 0 }
elseif --[[ guard: recurring-run-store-full ]] is_store_full() then
  return STORE_FULL
end
local child, reason = spawn_next(id, recurring, now_floor)
if not child then
  return { 0, now_floor, reason, refused_code, tonumber(refused_present or 0) }
end

-- Write.
write("HSET", named_key("R", id), "made", text_of(recurring.made))
place_debounced()
table.insert(early_steps, write_new_queues)
return { 0, now_floor, "", recurring.made, commit(expiries) }
