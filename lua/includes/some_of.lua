-- Takes some members of a set of dependents, for a script handles a few at a time; the rest makes the timer run again at once. Each costs as much as two
-- jobs that are due.
local function some_of(key)
  local ids = redis.call("SRANDMEMBER", touch(key), math.ceil(limit / 2))
  limit = limit - 2 * #ids
  if #ids > 0 then
    free("SREM", key, unpack(ids))
  end
  return ids
end

-- A timer whose work is done is removed. One that has more to do goes behind the timers that came due meanwhile, so that it does not block them.
local function finish(what, is_done)
  if is_done then
    free("ZREM", timers, what)
  else
    write("ZADD", timers, text_of(now_floor), what)
  end
end
