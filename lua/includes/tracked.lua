-- Tracked jobs: since when each is. Those that have ended are remembered for a day.
local TRACE_AGE_MS = 86400000
local function update_tracked(job, was, tracked)
  if was.tracked and not tracked and job.is_gone then
    write("ZADD", namespace_key("traces"), text_of(now_floor), job.id)
    set_timer("T", now_floor + TRACE_AGE_MS)
  end
  if was.tracked and not tracked then
    free("ZREM", namespace_key("tracked"), job.id)
  elseif tracked and not was.tracked then
    free("ZREM", namespace_key("traces"), job.id)
    write("ZADD", namespace_key("tracked"), tracked, job.id)
  end
end
