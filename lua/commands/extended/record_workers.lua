--[[
Record that workers were seen.

KEYS meta, due, workers
ARGV clock_ms, deadline_ms, most
ITEM worker
most: integer  workers, at most; 0 = any number

Returns {status, now_ms}. Status: 0 done, or nothing to record because the namespace is not registered; 1 too late. A new one beyond most is left out
while all others are alive.
Cost: O(log N) per item.
]]

--- @adds
--- @requires core/call, queues/sessions

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
if redis.call("EXISTS", meta) == 0 then
  return { 0, now_floor }
end

-- Read.
local timers, settings = namespace_key("timers"), namespace_key("settings")
redis.call("EXISTS", meta, due, workers, timers, sessions.sessions_key())
local age_ms = tonumber(redis.call("HGET", settings, "max_worker_age_ms") or 86400000)

-- Write.
for i = FIRST_ITEM, #ARGV do
  if --[[ guard: workers-within-quota ]] redis.call("ZSCORE", workers, ARGV[i]) or sessions.has_room_for_worker(workers, most) then
    redis.call("ZADD", workers, text_of(now_floor), ARGV[i])
  end
end
redis.call("ZADD", timers, "LT", text_of(now_floor + age_ms), "W")
redis.call("ZADD", due, "LT", text_of(now_floor + age_ms), EXTENDED_TIMERS)
return { 0, now_floor }
