--[[
Set a setting of a namespace, or reset it, if it is as expected. It needs no marker of the namespace, and outlives it.

KEYS meta, settings
ARGV clock_ms, deadline_ms, key, value, expected, history_days
settings: hash         key -> value
key: text              its name
value: text            "" = reset it
expected: text         what is there before; "" = it is not set, "*" = whatever it is. Else nothing changes
history_days: integer  how long the existing days are kept from now on, 0 = not at all; "" = unchanged

Returns {status, now_ms, existed}. Existed: 1 if it had been set.
Cost: O(1); O(days that may be there), 366, if their number changes.
]]

--- @requires core/call, queues/statistics

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local days, today = { meta, settings }, math.floor(now_floor / statistics.DAY_MS)
-- With tomorrow: clocks of servers differ.
for day = today + 1, history_days and today - statistics.MAX_DAYS or today + 2, -1 do
  days[#days + 1] = statistics.day_key(day)
end
redis.call("EXISTS", unpack(days))
local before = redis.call("HGET", settings, key)
local existed = before and 1 or 0
local is_other = expected ~= "*" and (before or "") ~= expected
if --[[ guard: moved-setting-keeps-changes ]] is_other then
  return { 0, now_floor, existed }
end

-- Write.
if value == "" then
  redis.call("HDEL", settings, key)
else
  redis.call("HSET", settings, key, value)
end
for i = 3, #days do
  if history_days == 0 then
    redis.call("UNLINK", days[i])
  else
    -- The third key is tomorrow's; from there on the days go back.
    redis.call("PEXPIREAT", days[i], text_of((today + 5 - i + history_days) * statistics.DAY_MS))
  end
end
return { 0, now_floor, existed }
