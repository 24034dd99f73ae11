-- Lease operation ack: the work is done, or the same job continues in another queue.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/dependencies, extended/dependency_cycles, leases/claims
--- @exports ack

-- Option `next` of ack: the same job continues in another queue.
local function move_on(job, next, needs, facts)
  make_extended(job, true)
  local from, worker = name_of(job.queue), job.x.worker
  job.queue, job.tries, job.attempts, job.lease = number_of(next.queue), tonumber(job.x.tries), 0, job.lease + 1
  queue_names[job.queue] = next.queue
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

local function replace_data(job, options, data)
  if data then
    replace_typed_body(job, data, options.ctype)
  end
end

-- The work is done. New data comes before the other bytes.
function ack(job, options, bytes, code)
  local data = options.data_bytes and string.sub(bytes, 1, options.data_bytes)
  local result = data and string.sub(bytes, options.data_bytes + 1) or bytes
  local ran = job.x.leased and now_floor - tonumber(job.x.leased)
  local needs = ids_in(options.next and result or "")
  local refusal = why_not(job, needs)
  if refusal then
    return 6, 0, '{"refused":"' .. refusal .. '"}'
  end
  local came = tonumber(job.x.put) or publish_time(job.id, job)
  local facts = cjson.encode({ queue = name_of(job.queue), ran_ms = ran or nil, age_ms = came and math.max(now_floor - came, 0) or nil })
  take_in_hand(job)
  -- By force the job may be acknowledged while no worker has it.
  local worker = code ~= 3 and code ~= 5 and job.x.worker or nil
  if options.next then
    make_extended(job, true)
    replace_data(job, options, data)
    return move_on(job, options.next, needs, facts)
  end
  local keep_ms = options.keep_ms or tonumber(job.x.keep or 0)
  if keep_ms > 0 then
    make_extended(job, true)
    replace_data(job, options, data)
    put(job, "keep", keep_ms)
    put(job, "result", options.has_result and result or nil)
    put(job, "rtype", options.rtype)
  end
  conclude(job, DONE, "acked", { worker = worker })
  return code, 0, facts
end
