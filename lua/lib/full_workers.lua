-- Workers: which jobs each has, by the end of its lease, and when it was heard of last. One that is not heard of for a day is forgotten.
local WORKER_AGE_MS = 86400000

-- A lease that ran out stays with its worker, as a stalled one, until the job is anybody else's or goes elsewhere.
local function tend_worker(job, was, worker)
  if was.worker and (was.worker ~= worker or was.state ~= job.state and not job.is_stalled) then
    free("ZREM", index_key("w", was.worker), job.id)
  end
  if worker and job.state == LEASED and job.at then
    write("ZADD", index_key("w", worker), text_of(job.at), job.id)
  end
end

local seen = {}
local function see(worker)
  if worker and worker ~= "" and not seen[worker] and redis.call("EXISTS", meta) == 1 then
    seen[worker] = true
    write("ZADD", space_key("workers"), text_of(now_floor), worker)
    set_timer("W", now_floor + WORKER_AGE_MS)
  end
end

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
