-- Timers: timer_handlers has a function for each letter, which takes the rest of the timer's name. Most timers are for the head of a zset of times.
local timer_handlers = {}

-- Up to limit members of a zset whose time has come. Afterwards the timer is set to the first that is left, or removed.
local function due_in(key, what)
  local ids = redis.call("ZRANGEBYSCORE", touch(key), "-inf", now_floor, "LIMIT", 0, limit)
  limit = limit - #ids
  lasts[#lasts + 1] = function()
    local head = redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2]
    if head then
      redis.call("ZADD", timers, head, what)
    else
      redis.call("ZREM", timers, what)
    end
  end
  return ids
end

local function fire(letter, name)
  local handler = timer_handlers[letter]
  if handler then
    handler(name, letter .. name)
  else -- A timer of a newer version, which will handle it.
    write("ZADD", timers, text_of(now_floor + 60000), letter .. name)
  end
end
