-- Redis's clock, or a test's. "Is it due" asks now_floor, deadlines start from now_ceil: so nothing is ever early.
local now_floor, now_ceil
if clock_ms ~= "" then
  now_floor = tonumber(clock_ms)
  now_ceil = now_floor
else
  local time = redis.call("TIME")
  local seconds_ms, part_ms = time[1] * 1000, time[2] / 1000
  now_floor, now_ceil = seconds_ms + math.floor(part_ms), seconds_ms + math.ceil(part_ms)
end

-- A time as text, made once: number to text, with all its decimals, costs as much as half a command.
local texts = {}
local function text_of(ms)
  texts[ms] = texts[ms] or string.format("%.0f", ms)
  return texts[ms]
end

-- Its callers were told 503 by now, so it must not happen behind their backs: status 1, "late".
if deadline_ms > 0 and now_floor > deadline_ms then
  return { 1, now_floor }
end
