--[[
Stop a recurring job that moves to another Redis: from now on it makes no job here. Its slots stay as they are, so that the other Redis goes on with
the same ones.

KEYS meta, queues
ARGV clock_ms, deadline_ms, id, handover, refused
handover: text  the name of this way, which no other has
refused: text   a handover that the other Redis has refused; "" = none

Returns {status, now_ms, found, fields}. Found: 0 there is none; 1 it stands still, fields is a flat list, of which leaving is the name of its way; 2
it stays for now: by its overlap no job may be made while an earlier one is there, or its jobs depend on jobs that are here.
Cost: O(1), and O(1) for each dependency.
]]

--- @requires core/call, core/header, extended/dependencies, extended/unique_keys

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local key, by_interval, by_cron = named_key("R", id), namespace_key("recurring"), namespace_key("cron")
redis.call("EXISTS", meta, key, by_interval, by_cron)
local known = redis.call("HMGET", key, "options", "overlap", "leaving", "needs")
if not known[1] then
  return { 0, now_floor, 0 }
end
if not known[3] and (known[2] or "allow") ~= "allow" then
  local unique = (cjson.decode(known[1]).x or {}).unique
  local holder = unique and unique_keys.holder_of(unique)
  if --[[ guard: overlapping-job-holds-back-the-move ]] holder and holder.job then
    return { 0, now_floor, 2 }
  end
end

-- In the other Redis these ids have no job, and would count as done, or as missing.
local function needs_jobs_here()
  local refuses = cjson.decode(known[1]).refuse_missing
  for _, needed in ipairs(dependencies.ids_in(known[4] or "")) do
    local job = read_job(needed)
    if job and not is_expired(job) and (refuses or job.state ~= DONE) then
      return true
    end
  end
end
if not known[3] and --[[ guard: dependencies-hold-back-the-move ]] needs_jobs_here() then
  return { 0, now_floor, 2 }
end

-- Write.
if not known[3] or known[3] == refused then
  redis.call("HSET", key, "leaving", handover)
end
-- guard: a-leaving-recurring-job-stands-still
redis.call("ZREM", by_interval, id)
redis.call("ZREM", by_cron, id)
return { 0, now_floor, 1, redis.call("HGETALL", key) }
