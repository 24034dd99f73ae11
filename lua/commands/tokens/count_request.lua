--[[
Count one request in a token's window, if there is room. The first request opens a window; it ends by itself.

KEYS window
ARGV limit, interval_ms
limit: integer        requests that one window takes, >= 1
interval_ms: integer  how long a window lasts

Returns the window's `started` if the request was counted. If the window is used up, minus the time until it ends, ms (then nothing has changed).
Cost: O(1).
]]

--- @adds

local state = redis.call("HMGET", window, "started", "used")
if state[1] and tonumber(state[2]) < limit then
  redis.call("HINCRBY", window, "used", 1)
  return tonumber(state[1])
end
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
-- A window that starts later was opened before Redis's clock was set back, and would be used up until then.
if state[1] and --[[ guard: window-after-clock-set-back ]] tonumber(state[1]) <= now_ms + interval_ms then
  return math.min(-1, now_ms - interval_ms - tonumber(state[1]))
end
redis.call("HSET", window, "started", string.format("%.0f", now_ms), "used", 1)
redis.call("PEXPIRE", window, interval_ms)
return now_ms
