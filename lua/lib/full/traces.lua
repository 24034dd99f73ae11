-- Tracked jobs: since when each is. Those that are gone are remembered for a day.
local TRACE_AGE_MS = 86400000
local function tend_trace(job, was, tracked)
  if was.tracked and not tracked and job.is_gone then
    write("ZADD", space_key("traces"), text_of(now_floor), job.id)
    set_timer("T", now_floor + TRACE_AGE_MS)
  end
  if was.tracked and not tracked then
    free("ZREM", space_key("tracked"), job.id)
  elseif tracked and not was.tracked then
    free("ZREM", space_key("traces"), job.id)
    write("ZADD", space_key("tracked"), tracked, job.id)
  end
end
