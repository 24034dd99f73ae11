-- Workers: the jobs of each, by the end of its lease, and when it was last seen. A worker that is not seen for a while is forgotten.

-- A job whose lease expired stays with its worker, as a stalled one, until another worker leases it or it goes elsewhere.
local function update_worker(job, was, worker)
  if was.worker and (was.worker ~= worker or was.state ~= job.state and not job.is_stalled) then
    free("ZREM", index_key("w", was.worker), job.id)
  end
  if worker and job.state == LEASED and job.at then
    write("ZADD", index_key("w", worker), text_of(job.at), job.id)
  end
end

-- What a full Redis refuses is left out: the call must not fail for it.
local seen = {}
local function record_worker(worker)
  if worker and worker ~= "" and not seen[worker] and redis.call("EXISTS", meta) == 1 then
    seen[worker] = touch(namespace_key("workers"))
    touch(namespace_key("timers"))
    local forget_at = now_floor + namespace_setting("max_worker_age_ms", 86400000)
    lasts[#lasts + 1] = function()
      redis.pcall("ZADD", seen[worker], text_of(now_floor), worker)
      redis.pcall("ZADD", namespace_key("timers"), "LT", text_of(forget_at), "W")
      redis.pcall("ZADD", due, "LT", text_of(forget_at), EXTENDED_TIMERS)
    end
  end
end
