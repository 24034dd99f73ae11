-- The time, and how a token gets its end.
local time = redis.call("TIME")
local now_us = string.format("%.0f", time[1] * 1000000 + time[2])
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

-- Unix ms; nil = no end was told.
local function expiry(lifetime_ms, expires_ms)
  if lifetime_ms > 0 then
    return now_ms + lifetime_ms
  end
  return expires_ms > 0 and expires_ms or nil
end

local function end_at(token, ends_ms)
  if ends_ms then
    local ends = string.format("%.0f", ends_ms)
    redis.call("HSET", token, "expires", ends)
    redis.call("PEXPIREAT", token, ends)
  end
end
