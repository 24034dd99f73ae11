--[[
Remove jobs from the head of a queue's ready list, one bounded step of destroying it. Scheduled, leased and dead jobs stay.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, limit
limit: integer  entries to look at, at most

Returns {status, now_ms, looked, removed, left}. Status 3: an extended queue: use the extended path. Left: entries that remain in the list.
Cost: O(limit).
]]

--- @requires core/call, core/header, queues/registry, queues/ready_list_reader, jobs/removal, jobs/events

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local number = registry.find_queue(queue)
if registry.is_extended_queue[queue] then
  return { 3, now_floor }
end
if not number then
  return { 0, now_floor, 0, 0, 0 }
end

-- Read.
local ready = queue_key("r", number)
redis.call("EXISTS", meta, ready, queue_key("g", number), queue_key("i", number))
local entries = redis.call("LRANGE", ready, 0, limit - 1)
local list, removed = { number = number, taken = #entries, to_delete = {}, stale = {}, tombstones = 0 }, 0
for _, entry in ipairs(entries) do
  local id = string.sub(entry, 1, -2)
  local job = entry ~= "" and read_job(id)
  if entry == "" then
    list.tombstones = list.tombstones + 1
  elseif is_live_entry(job, entry, number) then
    removal.mark_for_deletion(list.to_delete, id, job.flags)
    removed = removed + 1
    events.emit("deleted", queue, id)
  else
    list.stale[#list.stale + 1] = entry
  end
end

-- Write.
ready_list_reader.trim_ready_list(list)
removal.return_freed_bytes()
events.write_events()
return { 0, now_floor, #entries, removed, redis.call("LLEN", ready) }
