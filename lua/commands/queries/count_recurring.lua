--[[
Show the queues of recurring jobs, one bounded step in the order of their ids; changes nothing. Their keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] after        the id before the step, "" = from the first
ARGV[4] limit        recurring jobs to read, at most

Returns {status, now_ms, last, queue × N}. Status: 0 done, 1 too late. Last: the id to go on after, "" = there are no more.
Cost: O(limit).
]]
local meta = KEYS[1]
local clock_ms, deadline_ms, after, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

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
