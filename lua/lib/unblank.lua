-- Takes blanks out of a line, which it would be made of in the end if nobody consumed it: so many, those next to its end, and those at its
-- head. The latter are not searched for: no more than a stretch of them is taken at a time.
local AT_HEAD = 1000
local function unblank(ready, near_end)
  if near_end > 0 then
    redis.call("LREM", ready, -near_end, "")
  end
  local head, n = redis.call("LINDEX", ready, 0) == "" and redis.call("LRANGE", ready, 0, AT_HEAD - 1) or {}, 0
  while head[n + 1] == "" do
    n = n + 1
  end
  if n > 0 then
    redis.call("LTRIM", ready, n, -1)
  end
  return near_end + n
end
