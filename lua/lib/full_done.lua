-- The work is done, or it went wrong.
local function move_on(job, next, facts)
  make_rich(job, true)
  job.queue, job.tries, job.attempts, job.lease = number_of(next.queue), tonumber(job.x.tries), 0, job.lease + 1
  names[job.queue] = next.queue
  fill_queue(job.queue, next.queue)
  for _, field in ipairs({ "leased", "worker", "fgroup", "fmessage", "fat", "fworker", "progress" }) do
    put(job, field, nil)
  end
  local at = next.delay_ms and next.delay_ms > 0 and now_ceil + next.delay_ms
  go(job, at and SCHEDULED or READY, at)
  tell("moved", job, { queue = next.queue })
  return 1, at, facts
end

function verbs.ack(job, options, result, code)
  local ran = job.x.leased and now_floor - tonumber(job.x.leased)
  local facts = cjson.encode({ queue = name_of(job.queue), ran_ms = ran or nil })
  leave(job)
  if options.next then
    return move_on(job, options.next, facts)
  end
  local keep_ms = options.keep_ms or tonumber(job.x.keep or 0)
  if keep_ms > 0 then
    make_rich(job, true)
    put(job, "keep", keep_ms)
    put(job, "result", options.has_result and result or nil)
    put(job, "rtype", options.rtype)
  end
  conclude(job, DONE, "acked")
  return code, 0, facts
end
