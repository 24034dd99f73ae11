-- What ended is told to those that wait for it, a few at a time; what is left makes the clock come back at once. Each costs as much as two
-- jobs that come due.
local function some_of(key)
  local ids = redis.call("SRANDMEMBER", touch(key), math.ceil(limit / 2))
  limit = limit - 2 * #ids
  if #ids > 0 then
    free("SREM", key, unpack(ids))
  end
  return ids
end

-- A timer whose work is done goes. One that has more to do stands behind what came due meanwhile, so that it keeps nobody waiting.
local function finish(what, is_done)
  if is_done then
    free("ZREM", timers, what)
  else
    write("ZADD", timers, text_of(now_floor), what)
  end
end
