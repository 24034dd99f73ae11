-- The timer of one recurring job: its member in the zset of those by interval, or by cron.
--- @requires core/call
--- @exports touch_recurring_timer, set_recurring_timer

-- Touches all keys that set_recurring_timer writes.
function touch_recurring_timer(due)
  redis.call("EXISTS", meta_key, due, namespace_key("timers"), namespace_key("recurring"), namespace_key("cron"))
end

-- runs: Unix ms, nil = it has no timer. Returns when it runs, 0 = it does not.
function set_recurring_timer(due, id, is_cron, runs)
  local by_time = namespace_key(is_cron and "cron" or "recurring")
  -- guard: cron-kind-change-leaves-index
  redis.call("ZREM", namespace_key(is_cron and "recurring" or "cron"), id)
  if not runs then
    redis.call("ZREM", by_time, id)
    return 0
  end
  redis.call("ZADD", by_time, text_of(runs), id)
  redis.call("ZADD", namespace_key("timers"), "LT", text_of(runs), is_cron and "C" or "R")
  redis.call("ZADD", due, "LT", text_of(runs), EXTENDED_TIMERS)
  return runs
end
