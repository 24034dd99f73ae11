-- Whole jobs: a table with the fields of the header, and in x those of the hash. One table for each job and script; commit writes what has changed.
--- @requires core/call, core/header, core/plan
--- @exports known_jobs, changed, header_of, job_of, will_change, put, set_failure, body_bytes_of, raise_lease, replace_body
--- @exports replace_typed_body, set_ttl

-- What a job's indexes are made from, before this script changes it: see extended/indexes.
local function was_of(job)
  return {
    state = job.state, queue = job.queue, tags = job.x.tags, unindexed = job.x.unindexed, type = job.x.type, fgroup = job.x.fgroup,
    worker = job.x.worker, tracked = job.x.tracked,
  }
end

-- Jobs by their ids, false = there is none; and those that change, in order.
known_jobs, changed = {}, {}

-- Fields of the hash. In a slot that is moving, a missing hash may be one that has not arrived (core/header).
local function extras_of(job)
  local all, x = redis.call("HGETALL", job.extras_key), {}
  if #all == 0 then
    redis.call("EXISTS", meta_key, job.extras_key)
  end
  for i = 1, #all, 2 do
    x[all[i]] = all[i + 1]
  end
  return x
end

-- The header of a job, at the cost of no more than that: the whole job, if this script knows it. value: header and body, if they were read.
function header_of(id, value)
  local known = known_jobs[id]
  if known ~= nil then
    return known
  end
  return value and unpack_job(value) or not value and read_job(id)
end

-- value: header and body, if they were read. header: as header_of gives it.
function job_of(id, value, header)
  if known_jobs[id] == nil then
    local job = header or header_of(id, value)
    if job then
      job.id, job.value, job.news, job.key, job.extras_key = id, value, {}, job_key(id), extras_key(id)
      job.x = job.flags % 2 == HAS_EXTRAS and extras_of(job) or {}
      job.was = is_extended(job) and was_of(job)
    end
    known_jobs[id] = job or false
  end
  return known_jobs[id] or nil
end

function will_change(job)
  if not job.is_changed then
    job.is_changed, changed[#changed + 1] = true, job
    touch(job.key)
  end
  return job
end

-- Sets a field of the hash; nil removes it. Only extended jobs have such fields: see make_extended.
function put(job, field, value)
  if value ~= nil or job.x[field] then
    will_change(job)
    touch(job.extras_key)
    job.x[field], job.news[field] = value, true
  end
end

-- What failed last. worker: the one that had the lease, nil = it gave no name.
function set_failure(job, group, message, worker)
  put(job, "fgroup", group)
  put(job, "fmessage", message)
  put(job, "fat", now_floor)
  put(job, "fworker", worker)
end

-- The job's last lease holder is refused from now on, and a lease holder that the store has forgotten. A simple job that gives its publish time up must
-- have become an extended one before (extended/conversion); otherwise it is not leased, and its number rises by one.
function raise_lease(job)
  local lease, is_for_extended = next_lease(job)
  if is_for_extended and not is_extended(job) then
    lease = job.lease + 1
  elseif is_for_extended then
    job.flags = without_time(job.flags)
  end
  job.lease = lease
end

-- Bodies, and their bytes that count for a quota (limits/call_quotas).

-- How long the body of a job is after this script, also if the script writes it.
function body_bytes_of(job)
  return --[[ guard: bytes-of-the-written-body ]] job.body and #job.body or redis.call("STRLEN", job.key) - HEADER_BYTES
end

-- is_new: not the work of the lease holder. A lease holder may act late (leases/claims), but not with work on another body.
function replace_body(job, body, is_new)
  if job.flags >= COUNTED then
    write_early("HINCRBY", meta_key, "bytes", #body - body_bytes_of(job))
  end
  will_change(job).body = body
  -- guard: new-data-loses-late-holders
  if is_new and job.attempts > 0 then
    raise_lease(job)
  end
end

-- With its content type; nil = plain JSON.
function replace_typed_body(job, body, ctype, is_new)
  replace_body(job, body, is_new)
  put(job, "ctype", ctype)
end

-- From now, 0 = it never expires.
function set_ttl(job, ttl_ms)
  will_change(job).expires = ttl_ms > 0 and now_ceil + ttl_ms or 0
  if job.expires > 0 then
    add_member(namespace_key("expiring"), text_of(job.expires), job.id)
    set_timer("E", job.expires)
  else
    remove_member(namespace_key("expiring"), job.id)
  end
end
