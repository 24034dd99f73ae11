-- Takes blanks out of a line, which it would be made of in the end if nobody consumed it: so many, those next to its end; and those near its
-- head, where the oldest jobs expire, behind a few that stay perhaps. Returns how many.
local FIRST, AT_HEAD = 100, 1000
local function blanks_in(entries)
  local n = 0
  for _, entry in ipairs(entries) do
    n = n + (entry == "" and 1 or 0)
  end
  return n
end

local function unblank(ready, near_end)
  if near_end > 0 then
    redis.call("LREM", ready, -near_end, "")
  end
  if blanks_in(redis.call("LRANGE", ready, 0, FIRST - 1)) == 0 then
    return near_end
  end
  local at_head = blanks_in(redis.call("LRANGE", ready, 0, AT_HEAD - 1))
  redis.call("LREM", ready, at_head, "")
  return near_end + at_head
end
