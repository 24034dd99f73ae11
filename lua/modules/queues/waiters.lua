-- Registers servers that wait for jobs: one flag for each queue, with a time at which it ends. queues/notify reads the flags.
--- @requires core/call
--- @exports register_waiters, register_flags

-- flags: their names (queues/notify). flag_ms: how long a flag lasts. A full Redis refuses the write; servers look again within a second
-- all the same. Flags that ended are removed little by little: each new one looks at two others, some old ones at a few. Never at all of them:
-- to draw a tenth of a hash costs as much as to copy it.
function register_flags(waiting, flag_ms, flags)
  local added = 0
  for _, flag in ipairs(flags) do
    local is_new = redis.pcall("HSET", waiting, flag, now_floor + flag_ms)
    added = added + (is_new == 1 and 1 or 0)
  end
  if #flags == 0 then
    return
  end
  redis.pcall("PEXPIRE", waiting, flag_ms)
  local sample = math.max(added * 2, math.min(#flags * 2, 8))
  local others = redis.call("HRANDFIELD", waiting, math.min(sample, 1000), "WITHVALUES")
  for i = 1, #others, 2 do
    if tonumber(others[i + 1]) <= now_floor then
      redis.call("HDEL", waiting, others[i])
    end
  end
end

-- For any type. lists: names of queues, joined by commas.
function register_waiters(waiting, flag_ms, lists)
  local flags = {}
  for _, names in ipairs(lists) do
    for name in string.gmatch(names, "[^,]+") do
      flags[#flags + 1] = name
    end
  end
  register_flags(waiting, flag_ms, flags)
end
