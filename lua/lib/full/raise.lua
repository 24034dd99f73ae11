-- What may become of dead jobs, by verb: each plans it for one job. False if it cannot be.
local raise, asked = {}, cjson.decode(options)

-- It begins anew, in its queue or in another one: nothing of its failure stays, nor of its count in the group (lib/full/tags).
function raise.respawn(job)
  if not retake_unique(job) then
    return false
  end
  local is_new = asked.tries == "reset"
  leave(job)
  job.spared, job.lease, job.expires = 0, job.lease + 1, asked.ttl_ms > 0 and now_ceil + asked.ttl_ms or 0
  job.tries = math.max(tonumber(asked.tries) or is_new and tonumber(job.x.tries or job.tries + job.attempts) or job.tries, 1)
  job.attempts = is_new and 0 or job.attempts
  for _, field in ipairs(is_rich(job) and { "fgroup", "fmessage", "fat", "fworker", "ended", "worker", "progress", "cancel", "due" } or {}) do
    put(job, field, nil)
  end
  if is_rich(job) and is_new then
    put(job, "failures", nil)
    put(job, "crashes", nil)
  end
  if asked.queue and asked.queue ~= name_of(job.queue) then
    job.queue = number_of(asked.queue)
    names[job.queue] = asked.queue
    if is_rich(job) then
      fill_queue(job.queue, asked.queue)
    end
  end
  if is_rich(job) and job.expires > 0 then
    write("ZADD", space_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  end
  go(job, READY)
  tell("respawned", job, { queue = asked.queue })
end

function raise.delete(job)
  leave(job)
  conclude(job, nil, "deleted")
end

