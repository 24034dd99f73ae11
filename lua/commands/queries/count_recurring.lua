--[[
Show the queues of recurring jobs, one bounded step in the order of their ids; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms, after, limit
after: text     the id before the step, "" = from the first
limit: integer  recurring jobs to read, at most

Returns {status, now_ms, last, queue × N}. Last: the id to go on after, "" = there are no more.
Cost: O(limit).
]]

--- @requires core/call

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local schedules = namespace_key("schedules")
redis.call("EXISTS", meta, schedules)
local ids = redis.call("ZRANGEBYLEX", schedules, after == "" and "-" or "(" .. after, "+", "LIMIT", 0, limit)
local reply = { 0, now_floor, #ids == limit and ids[limit] or "" }
for _, id in ipairs(ids) do
  local queue = redis.call("HGET", named_key("R", id), "queue")
  if queue then
    reply[#reply + 1] = queue
  end
end
return reply
