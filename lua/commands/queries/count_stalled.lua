--[[
Count by queue the jobs of workers whose lease ended, and that no worker has leased since; changes nothing.

KEYS meta
ARGV clock_ms, deadline_ms, limit
ITEM worker
limit: integer  jobs of each worker to read, at most

Returns {status, now_ms, (queue, jobs) × N}.
Cost: O(limit) per item.
]]

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local stalled, numbers = {}, {}
for i = FIRST_ITEM, #ARGV do
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
