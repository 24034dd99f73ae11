-- Lease operations retry and fail: the failure is recorded on the job, which may get new data.
--- @requires core/call, core/header, queues/registry, extended/jobs, extended/timeline, extended/moves, extended/conversion, extended/dead_jobs
--- @requires jobs/retry_delay, leases/claims
--- @exports retry, fail

local function record_failure(job, options, data)
  take_back(job)
  make_extended(job, true)
  handler_began(job)
  put(job, "failures", tonumber(job.x.failures or 0) + 1)
  set_failure(job, options.group, options.message, job.x.worker)
  -- guard: failure-keeps-data
  -- guard: failure-stores-data
  if options.has_data then
    -- guard: new-data-have-a-content-type
    replace_typed_body(job, data, options.ctype)
  end
end

local function where(job)
  return cjson.encode({ queue = name_of(job.queue) })
end

function retry(job, options, data)
  record_failure(job, options, data)
  local delay = options.delay_ms or delay_of(job, options.group)
  if job.tries == 0 or not delay then
    die(job, options.group, options.message, job.x.worker)
    return 1, 0, where(job)
  end
  local at = delay > 0 and now_ceil + delay
  go(job, at and SCHEDULED or READY, at)
  log_event("retried", job, { group = options.group, message = options.message, worker = job.x.worker, due = at or nil })
  return 1, at, where(job)
end

function fail(job, options, data)
  record_failure(job, options, data)
  log_event("failed", job, { group = options.group, message = options.message, worker = job.x.worker })
  die(job, options.group, options.message, job.x.worker)
  return 1, 0, where(job)
end
