--[[
Record that workers were seen.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] due          zset: queue number -> earliest due time, Unix ms
KEYS[3] workers      zset: name -> when it was last seen, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] most         workers, at most; 0 = any number
ARGV[4..] item × N   worker

Returns {status, now_ms}. Status: 0 done, or nothing to record because the namespace is not registered; 1 too late. A new one beyond most is left out
while all others are alive.
Cost: O(log N) per item.
]]
local meta, due, workers = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

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
redis.call("EXISTS", meta, due, workers, timers, sessions_key())
local age_ms = tonumber(redis.call("HGET", settings, "max_worker_age_ms") or 86400000)

-- Write.
for i = 4, #ARGV do
  if --[[ guard: workers-within-quota ]] redis.call("ZSCORE", workers, ARGV[i]) or has_room_for_worker(workers, most) then
    redis.call("ZADD", workers, text_of(now_floor), ARGV[i])
  end
end
redis.call("ZADD", timers, "LT", text_of(now_floor + age_ms), "W")
redis.call("ZADD", due, "LT", text_of(now_floor + age_ms), EXTENDED_TIMERS)
return { 0, now_floor }
