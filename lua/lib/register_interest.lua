-- Notes that somebody waits on queues: lists of names, joined by commas. A full Redis refuses this write; waiters look again within a
-- second all the same.
local function register_interest(lists)
  for _, names in ipairs(lists) do
    for name in string.gmatch(names, "[^,]+") do
      redis.pcall("HSET", waiting, name, now_floor + flag_ms)
    end
  end
  if #lists > 0 then
    redis.pcall("PEXPIRE", waiting, flag_ms)
  end
end
