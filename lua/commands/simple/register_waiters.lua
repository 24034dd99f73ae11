--[[
Register again that a server waits for jobs of queues, and find those that may have jobs by now: one step, so that no job is published in between.

KEYS meta, queues, waiting
ARGV clock_ms, deadline_ms, flag_ms
ITEM name

Returns {status, now_ms, place × N}. Place, from 1: of a queue whose ready list has entries, which may be stale, or which is an extended one. The
caller must fetch its jobs; nothing is registered for it.
Cost: O(1) per queue.
]]

--- @requires core/call, queues/registry, queues/waiters

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read. In a slot that is moving, a list that has not arrived ends the script.
local ready_lists, keys = {}, { meta, waiting }
for i = FIRST_ITEM, #ARGV do
  local number = registry.find_queue(ARGV[i])
  if number then
    ready_lists[i] = queue_key("r", number)
    keys[#keys + 1] = ready_lists[i]
  end
end
redis.call("EXISTS", unpack(keys))
local reply, empty = { 0, now_floor }, {}
for i = FIRST_ITEM, #ARGV do
  if registry.is_extended_queue[ARGV[i]] or ready_lists[i] and redis.call("LLEN", ready_lists[i]) > 0 then
    reply[#reply + 1] = i - 3
  else
    empty[#empty + 1] = ARGV[i]
  end
end

-- Write.
-- guard: recheck-registers-again
waiters.register_waiters(waiting, flag_ms, empty)
return reply
