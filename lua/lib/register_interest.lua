-- Notes that somebody waits on queues: lists of names, joined by commas. A full Redis refuses this write; waiters look again within a
-- second all the same. Flags of waits that ended with nothing go little by little: each new one looks at two others, a few old ones at
-- some in any case. Of many it is not done for all: to draw a tenth of a hash costs as much as to copy it.
local function register_interest(lists)
  local noted, added = 0, 0
  for _, names in ipairs(lists) do
    for name in string.gmatch(names, "[^,]+") do
      local is_new = redis.pcall("HSET", waiting, name, now_floor + flag_ms)
      added = added + (is_new == 1 and 1 or 0)
      noted = noted + 1
    end
  end
  if noted == 0 then
    return
  end
  redis.pcall("PEXPIRE", waiting, flag_ms)
  local some = math.max(added * 2, math.min(noted * 2, 8))
  local others = redis.call("HRANDFIELD", waiting, math.min(some, 1000), "WITHVALUES")
  for i = 1, #others, 2 do
    if tonumber(others[i + 1]) <= now_floor then
      redis.call("HDEL", waiting, others[i])
    end
  end
end
