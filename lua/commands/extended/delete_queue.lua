--[[
Forget a queue, its settings too, if it has no job in any state. Its number is never used again.

KEYS meta, queues, due, expiries
ARGV clock_ms, deadline_ms, queue

Returns {status, now_ms, code}. Code: 0 forgotten, 1 there is no such queue, 2 it has jobs, 3 there is more to remove than one step does: call again.
Cost: O(100) lists of far slots, O(1000) stale entries.
]]

--- @requires core/call, core/header, queues/ready_list_reader, jobs/schedule, jobs/events, queues/registry, queues/job_counts, queues/fair_keys

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if not number then
  return { 0, now_floor, 1 }
end

-- Read. Lists of far slots hold nothing but stale entries when no job counts as far.
local MOST_SLOTS, MOST_READ = 100, 1000
local ready, stale, facts, far = queue_key("r", number), queue_key("g", number), queue_key("i", number), queue_key("f", number)
redis.call("EXISTS", meta, due, expiries, ready, stale, facts, far, namespace_key("timers"))
local length, head = redis.call("LLEN", ready), ready_list_reader.stale_head(number, MOST_READ)
if --[[ guard: queue-with-jobs-stays ]] --[[ guard: delete-reads-empty-list ]] head.taken < math.min(length, MOST_READ) or tonumber(redis.call("HGET", facts, "far") or 0) > 0 or job_counts.count_keys(number, "sldpDQSLbhz") > 0 then
  return { 0, now_floor, 2 }
end
local slots, lists = redis.call("ZRANGE", far, 0, MOST_SLOTS - 1), {}
for i, slot in ipairs(slots) do
  lists[i] = schedule.slot_key(number, slot)
end
events.emit("queue_deleted", queue, "")

-- Write.
if head.taken < length then
  ready_list_reader.trim_ready_list(head)
  return { 0, now_floor, 3 }
end
if #slots > 0 then
  redis.call("EXISTS", unpack(lists))
  redis.call("UNLINK", unpack(lists))
  redis.call("ZREM", far, unpack(slots))
end
if #slots == MOST_SLOTS then
  return { 0, now_floor, 3 }
end
redis.call("UNLINK", ready, stale, facts, far, queue_key("o", number), fair_keys.kept_turns_key(number))
redis.call("HDEL", queues, queue)
redis.call("ZREM", due, number)
redis.call("ZREM", expiries, number)
redis.call("ZREM", namespace_key("timers"), "P" .. number, "K" .. number, "Y" .. number, "S" .. number, "L" .. number)
-- guard: queue-deletion-event
events.write_events()
return { 0, now_floor, 0 }
