--[[
Count by queue the jobs of workers whose lease ended, and that no worker has leased since; changes nothing. Keys of workers and of queues are built from
the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] limit        jobs of each worker to read, at most
ARGV[4..] item × N   worker

Returns {status, now_ms, (queue, jobs) × N}. Status: 0 done, 1 too late.
Cost: O(limit) per item.
]]
local meta = KEYS[1]
local clock_ms, deadline_ms, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local stalled, numbers = {}, {}
for i = 4, #ARGV do
  local key = namespace_key("w:" .. ARGV[i])
  redis.call("EXISTS", meta, key)
  for _, id in ipairs(redis.call("ZRANGEBYSCORE", key, "-inf", text_of(now_floor), "LIMIT", 0, limit)) do
    local job = read_job(id)
    if job and not is_expired(job) then
      if not stalled[job.queue] then
        stalled[job.queue], numbers[#numbers + 1] = 0, job.queue
      end
      stalled[job.queue] = stalled[job.queue] + 1
    end
  end
end
local reply = { 0, now_floor }
for _, number in ipairs(numbers) do
  local n = #reply
  reply[n + 1], reply[n + 2] = redis.call("HGET", queue_key("i", number), "name") or "", stalled[number]
end
return reply
