--[[
Move what is due, in up to limit steps: scheduled jobs to the end of their lines; jobs whose lease ran out likewise, or to the dead letter when no
try is left (a lease whose answer may not have left is not charged); expired ones away. With the steps that are left, slots of scheduled jobs
that are near go to where jobs stand by their due time. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] due          zset: queue number -> earliest due time, Unix ms
KEYS[3] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[4] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
KEYS[5] sending      hash: record -> leases whose answers may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] limit        jobs to look at, at most

Returns {status, now_ms, next_due_ms, due, returned, died, expired, earliest_ms, is_full_due, (queue, returned, died) × N}. Status: 0 done, 1 too late.
Next_due_ms: when to come back, 0 = nothing to wait for, in the past = at once. Earliest_ms: the oldest due time that was served, 0 = none.
Is_full_due: 1 = something is due that the full lane must see to.
Cost: O(limit log N).
]]
local meta, due, waiting, expiries, sending = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/named_keys"
--- @include "lib/header"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/values"
--- @include "lib/read_values"
--- @include "lib/slots"
--- @include "lib/open_slot"
--- @include "lib/write_opened"
--- @include "lib/unheard"
--- @include "lib/doom"
--- @include "lib/events"
--- @include "lib/lapses"
--- @include "lib/move_due"
--- @include "lib/plan_due"
--- @include "lib/bury"

-- Look. Where a slot is moving, an index that this script empties is one that has moved already, for the rest of the script, and what it
-- has taken from there would get nowhere. So nothing runs until all has moved: a key that never is stops it.
redis.call("EXISTS", meta, expiries, space_key("never"))
local plan, is_full_due = {}, 0
local numbers = redis.call("ZRANGEBYSCORE", due, "-inf", now_floor, "LIMIT", 0, 32)
local share = math.ceil(limit / math.max(#numbers, 1) / 2)
for _, text in ipairs(numbers) do
  if text == FULL_LANE then
    is_full_due = 1
  else
    plan[#plan + 1] = plan_queue(tonumber(text), share)
  end
end

-- Write: every index entry goes before anything is added.
for _, step in ipairs(plan) do
  redis.call("ZREM", due, step.number)
  drop("s", step.number, step.scheduled)
  drop("l", step.number, step.leased)
  if step.opened then
    write_opened(step.opened)
  end
end
if #spent > 0 then
  redis.call("DEL", unpack(spent))
end
--- @include "lib/return_bytes"
for _, job in ipairs(buried) do
  bury(job)
end
write_values()
for _, step in ipairs(plan) do
  local next_due
  for _, kind in ipairs({ "s", "l", "f" }) do
    local head = redis.call("ZRANGE", queue_key(kind, step.number), 0, 0, "WITHSCORES")[2]
    next_due = head and math.min(next_due or math.huge, tonumber(head)) or next_due
  end
  if next_due then
    redis.call("ZADD", due, next_due, step.number)
  end
end
write_lines("RPUSH")
write_events()
local next_due = tonumber(redis.call("ZRANGE", due, 0, 0, "WITHSCORES")[2] or 0)
earliest = earliest < math.huge and earliest or 0
return with_lapses({ 0, now_floor, next_due, counts.due, counts.returned, counts.died, counts.expired, earliest, is_full_due })
