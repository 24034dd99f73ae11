--[[
Read all that decides when a recurring job makes its next job, in one step; changes nothing.

KEYS meta, queues, waiting, targets, requested
ARGV clock_ms, deadline_ms, id

Returns {status, now_ms, (name, value) × N}. Recurring: its id and its fields, as in queries/read_recurring; an empty list = there is none. The rest as in
queues/queue_facts, of the queue that it makes jobs for.
Cost: O(1).
]]

--- @requires core/call, queues/registry, queues/queue_facts

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, named_key("R", id))
local fields = redis.call("HGETALL", named_key("R", id))
local reply = { 0, now_floor, "recurring", #fields > 0 and { id, fields } or {} }
if #fields > 0 then
  local queue = cjson.decode(redis.call("HGET", named_key("R", id), "options")).queue
  queue_facts.add_queue_facts(function(name, value)
    reply[#reply + 1], reply[#reply + 2] = name, value
  end, queue, registry.find_queue(queue), { waiting = waiting, targets = targets, requested = requested })
end
return reply
