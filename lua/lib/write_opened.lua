-- Moves near what a slot had: plain jobs to the zset of scheduled ones, those that became rich while they were far to the full lane's.
local function move_near(opened, kind, members)
  if #members > 0 then
    -- A job whose due time was changed has its new one there already.
    redis.call("ZADD", queue_key(kind, opened.number), "NX", unpack(members))
    redis.call("HINCRBY", queue_key("i", opened.number), "far", -#members / 2)
  end
end

local function write_opened(opened)
  redis.call("LTRIM", opened.key, opened.looked, -1)
  if opened.looked < opened.share then
    redis.call("ZREM", queue_key("f", opened.number), opened.slot)
  end
  move_near(opened, "s", opened.members)
  move_near(opened, "S", opened.rich)
  if #opened.rich > 0 then
    local first = redis.call("ZRANGE", queue_key("S", opened.number), 0, 0, "WITHSCORES")[2]
    redis.call("ZADD", space_key("timers"), "LT", first, "S" .. opened.number)
    redis.call("ZADD", due, "LT", first, FULL_LANE)
  end
end
