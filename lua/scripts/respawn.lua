--[[
Bring dead jobs back to the end of their line, oldest first, with one try and a new ttl; one bounded step.
Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[4] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] limit        jobs, at most
ARGV[5] ttl_ms       from now, 0 = for ever

Returns {status, now_ms, looked, respawned}. Status: 0 done, 1 too late, 3 a full queue: ask the full lane.
Cost: O(limit log N).
]]
local meta, queues, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock_ms, deadline_ms, queue = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local limit, ttl_ms = tonumber(ARGV[4]), tonumber(ARGV[5])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/events"

local number = find_queue(queue)
if full[queue] then
  return { 3, now_floor }
end
if not number then
  return { 0, now_floor, 0, 0 }
end

-- Look.
local dead = queue_key("d", number)
local ids, jobs = redis.call("ZRANGE", dead, 0, limit - 1), {}
redis.call("EXISTS", meta, expiries, dead, queue_key("r", number), queue_key("g", number))
for _, id in ipairs(ids) do
  jobs[id] = read_job(id)
  if jobs[id] then
    event("respawned", queue, id)
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
    job.tries, job.expires, job.spared = 1, ttl_ms > 0 and now_ceil + ttl_ms or 0, 0
    join_line(number, queue, id, job)
    write_job(id, job)
    respawned = respawned + 1
  end
end
write_lines("RPUSH")
write_events()
return { 0, now_floor, #ids, respawned }
