--[[
Show all that is known of a job, whatever its state and queue; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms
ITEM id

Returns {status, now_ms, (value, queue, score, extras, needs, users, failed) × N}. Value: header, then the body; "" = no such job. Score: in the index
of its state, "" = none. Extras: a flat list of fields and values; needs, users: lists of ids, of users 100 at most; failed: a flat list of failed
dependencies, and how those ended.
Cost: O(N) per item, of what the job has.
]]

--- @requires core/call, core/header, jobs/dependents

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local INDEX = { [SCHEDULED] = "Ss", [LEASED] = "Ll", [DEAD] = "dd", [BLOCKED] = "bb", [HELD] = "hh", [DONE] = "zz", [CANCELLED] = "zz" }
local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  local id, n = ARGV[i], #reply
  local value = redis.call("GET", job_key(id)) or assert_slot_stable(id) or ""
  local job = value ~= "" and unpack_job(value)
  if job and is_expired(job) then
    job, value = nil, ""
  end
  local index = job and INDEX[job.state]
  local key = index and queue_key(string.sub(index, is_extended(job) and 1 or 2, is_extended(job) and 1 or 2), job.queue)
  redis.call("EXISTS", meta, extras_key(id), needs_key(id), users_key(id))
  reply[n + 1] = value
  reply[n + 2] = job and redis.call("HGET", queue_key("i", job.queue), "name") or ""
  reply[n + 3] = key and redis.call("ZSCORE", key, id) or ""
  reply[n + 4] = job and redis.call("HGETALL", extras_key(id)) or {}
  reply[n + 5] = job and redis.call("SUNION", needs_key(id), named_key("m", id)) or {}
  reply[n + 6] = job and job.flags % 2 == HAS_EXTRAS and dependents.dependents_of({ id = id, x = { users = redis.call("HGET", extras_key(id), "users") } }) or {}
  reply[n + 7] = job and redis.call("HGETALL", named_key("f", id)) or {}
end
return reply
