--[[
Put dead jobs back at the end of their ready list, oldest first, with one try and a new ttl; one bounded step.

KEYS meta, queues, waiting, expiries
ARGV clock_ms, deadline_ms, queue, limit, ttl_ms
limit: integer   jobs, at most
ttl_ms: integer  from now, 0 = it never expires

Returns {status, now_ms, looked, respawned}. Status 3: an extended queue, or a job that has to become an extended one: use the extended path.
Cost: O(limit log N).
]]

--- @requires core/call, core/header, queues/registry, queues/notify, queues/ready_list, jobs/events

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

local number = registry.find_queue(queue)
if registry.is_extended_queue[queue] then
  return { 3, now_floor }
end
if not number then
  return { 0, now_floor, 0, 0 }
end

-- Read.
local dead = queue_key("d", number)
local ids, jobs = redis.call("ZRANGE", dead, 0, limit - 1), {}
-- guard: respawn-touches-first
redis.call("EXISTS", meta, expiries, dead, queue_key("r", number), queue_key("g", number))
for _, id in ipairs(ids) do
  jobs[id] = read_job(id)
  if jobs[id] then
    local lease, is_for_extended = next_lease(jobs[id])
    if is_for_extended then
      return { 3, now_floor }
    end
    -- guard: respawn-raises-the-lease
    jobs[id].lease = lease % 4294967296 -- It starts again: its last lease holder is refused.
    events.emit("respawned", queue, id)
  end
end

-- Write.
if #ids > 0 then
  redis.call("ZREM", dead, unpack(ids))
end
local respawned = 0
for _, id in ipairs(ids) do
  local job = jobs[id]
  if job then
    job.tries, job.expires, job.free_retries = 1, ttl_ms > 0 and now_ceil + ttl_ms or 0, 0
    ready_list.make_ready(number, queue, id, job)
    write_job(id, job)
    respawned = respawned + 1
  end
end
ready_list.write_ready_lists("RPUSH", expiries)
events.write_events()
return { 0, now_floor, #ids, respawned }
