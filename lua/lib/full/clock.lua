-- Timers: bells has for each letter what is to be done, with the rest of the timer's name. Most stand for the head of a zset of times.
local bells = {}

-- Up to limit members of a zset whose time has come. Afterwards the timer is set to the first that is left, or is gone.
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

local function ring(letter, rest)
  local bell = bells[letter]
  if bell then
    bell(rest, letter .. rest)
  else -- Of a newer version, which will come for it.
    write("ZADD", timers, text_of(now_floor + 60000), letter .. rest)
  end
end
