-- Lease operations retry and fail: the failure is recorded on the job, which may get new data.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/dead_jobs
--- @requires jobs/retry_delay, leases/claims, limits/byte_room, limits/store_room
--- @exports retry, fail, force_fail

-- Beyond the quota on bytes, or in a full Redis, the message is cut, so that the lease ends all the same. It is stored up to three times: with the job
-- and in its timeline.
local SHORT_MESSAGE = 200
local function message_of(job, options)
  local message = options.message
  if not message or #message <= SHORT_MESSAGE then
    return message
  elseif not --[[ guard: message-store-full ]] store_room.is_store_full() and byte_room.has_byte_room(job, 3 * #message, options.most_bytes) then
    return message
  end
  local last = SHORT_MESSAGE
  while string.find(message, "^[\128-\191]", last + 1) do -- In the middle of a character.
    last = last - 1
  end
  return string.sub(message, 1, last)
end

local function record_failure(job, options, message, data)
  claims.take_back(job)
  conversion.make_extended(job, true)
  claims.handler_began(job)
  jobs.put(job, "failures", tonumber(job.x.failures or 0) + 1)
  jobs.set_failure(job, options.group, message, job.x.worker)
  -- guard: failure-keeps-data
  -- guard: failure-stores-data
  if options.has_data then
    -- guard: new-data-have-a-content-type
    jobs.replace_typed_body(job, data, options.ctype)
  end
end

local function where(job)
  return cjson.encode({ queue = registry.name_of(job.queue), tries = job.tries })
end

function retry(job, options, data)
  local message = --[[ guard: message-within-quota ]] message_of(job, options)
  record_failure(job, options, message, data)
  local delay = options.delay_ms or retry_delay.delay_of(job, options.group)
  if --[[ guard: retried-cancelled-is-not-dead ]] not job.x.cancel and (job.tries == 0 or not delay) then
    dead_jobs.die(job, options.group, message, job.x.worker)
    return 1, 0, where(job)
  end
  local at = delay and delay > 0 and now_ceil + delay
  moves.return_job(job, at, "retried", { group = options.group, message = message, worker = job.x.worker, due = at or nil })
  return 1, at, where(job)
end

-- Not by the lease holder, who loses the lease; in any state. A dead job stays as it is.
function force_fail(job, options)
  if job.state ~= DEAD then
    local message, worker = message_of(job, options), job.state == LEASED and job.x.worker or nil
    -- guard: forced-failure-ends-the-lease
    claims.take_back(job)
    conversion.make_extended(job, true)
    timeline.log_event("failed", job, { group = options.group, message = message, worker = worker, forced = true })
    dead_jobs.die(job, options.group, message, worker)
  end
  return 1, 0, where(job)
end

function fail(job, options, data)
  local message = message_of(job, options)
  record_failure(job, options, message, data)
  timeline.log_event("failed", job, { group = options.group, message = message, worker = job.x.worker })
  dead_jobs.die(job, options.group, message, job.x.worker)
  return 1, 0, where(job)
end
