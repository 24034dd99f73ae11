--[[
Forget a queue that holds no job, with its settings; or report where its jobs are. Its number is never used again.

KEYS meta, queues, due, expiries
ARGV clock_ms, deadline_ms, queue, kinds
kinds: text  letters of all its indexes, as queue_key has them

Returns {status, now_ms, held}. Held: letters of the indexes that hold anything, "" = the queue is gone.
Cost: O(1).
]]

--- @requires core/call, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if not number then
  return { 0, now_floor, "" }
end

-- Read.
local other_keys = { queue_key("g", number), queue_key("i", number), queue_key("o", number) }
redis.call("EXISTS", meta, due, expiries, unpack(other_keys))
local held = string.gsub(kinds, ".", function(kind)
  -- An empty index does not exist. Two keys: in a slot that is moving, an index that has not arrived ends the script.
  return redis.call("EXISTS", meta, queue_key(kind, number)) == redis.call("EXISTS", meta) and "" or kind
end)
if held ~= "" then
  return { 0, now_floor, held }
end

-- Write.
redis.call("UNLINK", unpack(other_keys))
redis.call("HDEL", queues, queue)
redis.call("ZREM", due, number)
redis.call("ZREM", expiries, number)
return { 0, now_floor, "" }
