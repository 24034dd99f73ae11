-- All that is known of a job, whatever its state and queue.
--- @requires core/call, core/header, jobs/dependents, jobs/dependency_results
--- @exports whole_job

local INDEX = { [SCHEDULED] = "Ss", [LEASED] = "Ll", [DEAD] = "dd", [BLOCKED] = "bb", [HELD] = "hh", [DONE] = "zz", [CANCELLED] = "zz" }

-- Returns {value, queue, score, extras, needs, users, failed, dependencies}, as queries/read_jobs replies it, and the header as a table; nil = there is no such job.
-- without_body: the value is the header alone.
function whole_job(id, without_body)
  local value = (without_body and redis.call("GETRANGE", job_key(id), "0", LAST_BYTE) or redis.call("GET", job_key(id))) or ""
  if value == "" then
    assert_slot_stable(id)
  end
  local job = value ~= "" and unpack_job(value)
  if not job or is_expired(job) then
    return { "", "", "", {}, {}, {}, {}, "" }, nil
  end
  local kinds = INDEX[job.state]
  local key = kinds and queue_key(is_extended(job) and string.sub(kinds, 1, 1) or string.sub(kinds, 2, 2), job.queue)
  redis.call("EXISTS", meta_key, extras_key(id), needs_key(id), users_key(id))
  local list = not without_body and job.flags % 2 == HAS_EXTRAS and redis.call("HMGET", extras_key(id), "deps", "results_of") or {}
  return {
    value,
    redis.call("HGET", queue_key("i", job.queue), "name") or "",
    key and redis.call("ZSCORE", key, id) or "",
    redis.call("HGETALL", extras_key(id)),
    redis.call("SUNION", needs_key(id), named_key("m", id)),
    job.flags % 2 == HAS_EXTRAS and dependents.dependents_of({ id = id, x = { users = redis.call("HGET", extras_key(id), "users") } }) or {},
    redis.call("HGETALL", named_key("f", id)),
    list[1] and dependency_results(id, list[1], list[2] or nil, job.state >= DONE) or "",
  }, job
end
