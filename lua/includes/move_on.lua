-- Option `next` of ack: the same job continues in another queue.
local function move_on(job, next, needs, facts)
  make_extended(job, true)
  local from, worker = name_of(job.queue), job.x.worker
  job.queue, job.tries, job.attempts, job.lease = number_of(next.queue), tonumber(job.x.tries), 0, job.lease + 1
  names[job.queue] = next.queue
  make_queue_extended(job.queue, next.queue)
  for _, field in ipairs({ "leased", "worker", "fgroup", "fmessage", "fat", "fworker", "progress" }) do
    put(job, field, nil)
  end
  local at = next.delay_ms and next.delay_ms > 0 and now_ceil + next.delay_ms
  put(job, "due", at or nil)
  log_event("moved", job, { queue = next.queue, from = from, worker = worker })
  if wait_for(job, needs) then
    return 1, 0, facts
  end
  go(job, at and SCHEDULED or READY, at)
  return 1, at, facts
end
