-- How long a token works.
--- @exports read_token_time, end_of, end_at

-- Returns Redis's time as Unix ms, and as Unix us in text.
function read_token_time()
  local time = redis.call("TIME")
  return time[1] * 1000 + math.floor(time[2] / 1000), string.format("%.0f", time[1] * 1000000 + time[2])
end

-- Unix ms, nil = it does not end. lifetime_ms: from now, 0 = not given; expires_ms: Unix ms, 0 = not given.
function end_of(now_ms, lifetime_ms, expires_ms)
  if lifetime_ms > 0 then
    return now_ms + lifetime_ms
  end
  return expires_ms > 0 and expires_ms or nil
end

function end_at(token, ends_ms)
  if ends_ms then
    local ends = string.format("%.0f", ends_ms)
    redis.call("HSET", token, "expires", ends)
    -- guard: expired-tokens-are-removed
    redis.call("PEXPIREAT", token, ends)
  end
end
