-- Workers: which jobs each has, by the end of its lease, and when it was heard of last. One that is not heard of for a while is forgotten.

-- A lease that ran out stays with its worker, as a stalled one, until the job is anybody else's or goes elsewhere.
local function tend_worker(job, was, worker)
  if was.worker and (was.worker ~= worker or was.state ~= job.state and not job.is_stalled) then
    free("ZREM", index_key("w", was.worker), job.id)
  end
  if worker and job.state == LEASED and job.at then
    write("ZADD", index_key("w", worker), text_of(job.at), job.id)
  end
end

-- What a full Redis refuses is left out: who asks must not be turned away for it.
local seen = {}
local function see(worker)
  if worker and worker ~= "" and not seen[worker] and redis.call("EXISTS", meta) == 1 then
    seen[worker] = touch(space_key("workers"))
    touch(space_key("timers"))
    local forget_at = now_floor + chosen("max_worker_age_ms", 86400000)
    lasts[#lasts + 1] = function()
      redis.pcall("ZADD", seen[worker], text_of(now_floor), worker)
      redis.pcall("ZADD", space_key("timers"), "LT", text_of(forget_at), "W")
      redis.pcall("ZADD", due, "LT", text_of(forget_at), FULL_LANE)
    end
  end
end
