--[[
Remove dead jobs, oldest first; one bounded step.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, limit
limit: integer  jobs, at most

Returns {status, now_ms, deleted}. Status 3: an extended queue: use the extended path.
Cost: O(limit log N).
]]

--- @requires core/call, core/header, queues/registry, jobs/removal, jobs/events

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if registry.is_extended_queue[queue] then
  return { 3, now_floor }
end
if not number then
  return { 0, now_floor, 0 }
end

-- Read.
local dead = queue_key("d", number)
redis.call("EXISTS", meta, dead)
local ids, keys = redis.call("ZRANGE", dead, 0, limit - 1), {}
for _, id in ipairs(ids) do
  local job = read_job(id)
  if job then
    removal.mark_for_deletion(keys, id, job.flags)
    events.emit("deleted", queue, id)
  end
end

-- Write.
-- guard: delete-frees-first
if #ids > 0 then
  redis.call("ZREM", dead, unpack(ids))
end
if #keys > 0 then
  redis.call("DEL", unpack(keys))
end
removal.return_freed_bytes()
events.write_events()
return { 0, now_floor, #ids }
