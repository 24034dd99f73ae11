-- Settings of a queue, read once for each script, and how many of its jobs run: simple and extended ones together.
local limits, settings_of, wake = { moved = {}, freed = {} }, nil, nil
do
  local settings, woken = {}, {}
  local NUMBERS, TEXTS = { "max", "kmax", "tat", "grace" }, { "rate", "krate", "defaults" }
  function settings_of(number)
    local known = settings[number]
    if not known then
      known, settings[number] = {}, {}
      local all = redis.call("HGETALL", touch(queue_key("o", number)))
      for i = 1, #all, 2 do
        known[all[i]] = all[i + 1]
      end
      for _, field in ipairs(NUMBERS) do
        known[field] = tonumber(known[field])
      end
      for _, field in ipairs(TEXTS) do
        known[field] = known[field] and cjson.decode(known[field])
      end
      settings[number] = known
    end
    return known
  end

  -- What this script has planned counts as done.
  function limits.running_in(number)
    local there = redis.call("ZCARD", queue_key("l", number)) + redis.call("ZCARD", queue_key("L", number))
    return there + (limits.moved[number] or 0)
  end

  -- Servers that wait for jobs of a queue are woken when all is written.
  function wake(number)
    if not woken[number] then
      woken[number] = true
      lasts[#lasts + 1] = function()
        notify(name_of(number))
      end
    end
  end
end
