--[[
Remove jobs from one index of a queue, whatever they are: one bounded step of purging it. No event is written, and no dependent, limit or counter is
updated: the whole namespace is being removed.

KEYS meta, queues
ARGV clock_ms, deadline_ms, queue, kind, limit
kind: text      of the index, as queue_key has it: r = the ready list, f = far slots, D = lists of types, Q = lists of fair keys, else a zset of ids
limit: integer  members to look at, at most

Returns {status, now_ms, looked, removed}. Looked 0: the index is empty.
Cost: O(limit log N).
]]

--- @requires core/call, core/header, queues/registry, queues/type_keys, queues/fair_keys, jobs/schedule, jobs/removal

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- The keys of a job's concurrency key.
local function add_limit_keys(keys, id, number)
  local ckey = redis.call("HGET", extras_key(id), "ckey")
  for letter in string.gmatch(ckey and "cwT" or "", ".") do
    keys[#keys + 1] = namespace_key(letter .. number .. ":" .. redis.sha1hex(ckey))
  end
end

local number = registry.find_queue(queue)
if not number then
  return { 0, now_floor, 0, 0 }
end

-- Read.
local index, facts, stale = queue_key(kind, number), queue_key("i", number), queue_key("g", number)
redis.call("EXISTS", meta, index, facts, stale)
local LIST_OF = { D = type_keys.list_key, Q = fair_keys.fair_list_key }
local directory, name = index, LIST_OF[kind] and redis.call("ZRANGE", index, 0, 0)[1]
if name then
  index = LIST_OF[kind](number, name)
  redis.call("EXISTS", meta, index)
end
local slot = kind == "f" and redis.call("ZRANGE", index, 0, 0)[1]
local list = kind == "r" and index or slot and schedule.slot_key(number, slot)
local members, keys, removed, tombstones, gone = {}, {}, 0, 0, {}
if list then
  redis.call("EXISTS", meta, list)
  members = redis.call("LRANGE", list, 0, limit - 1)
elseif kind ~= "f" then
  members = redis.call("ZRANGE", index, 0, limit - 1)
end
for _, member in ipairs(members) do
  local id = kind == "r" and string.sub(member, 1, -2) or slot and string.sub(member, 7, -2) or member
  local job = member ~= "" and read_job(id)
  local is_there = job and job.queue == number
  if kind == "r" then
    is_there = is_live_entry(job, member, number)
  elseif slot then
    is_there = is_there and job.state == SCHEDULED and job.entry == string.byte(member, -1)
  end
  if is_there then
    removal.mark_for_deletion(keys, id, job.flags)
    if is_extended(job) then
      for edge in string.gmatch("nufmvr", ".") do
        keys[#keys + 1] = named_key(edge, id)
      end
      add_limit_keys(keys, id, number)
    end
    removed = removed + 1
  elseif member == "" then
    tombstones = tombstones + 1
  elseif kind == "r" then
    gone[#gone + 1] = member
  end
end
for first = 1, #keys, 100 do
  redis.call("EXISTS", meta, unpack(keys, first, math.min(first + 99, #keys)))
end

-- Write.
if list then
  redis.call("LTRIM", list, #members, -1)
elseif #members > 0 then
  redis.call("ZREMRANGEBYRANK", index, 0, #members - 1)
end
if #keys > 0 then
  redis.call("UNLINK", unpack(keys))
end
removal.return_freed_bytes()
if #gone > 0 then
  redis.call("SREM", stale, unpack(gone))
end
if slot and #members < limit then
  redis.call("ZREM", index, slot)
end
if slot or tombstones > 0 then
  -- Not by a minus sign: Redis rejects "-0" as a number.
  redis.call("HINCRBY", facts, slot and "far" or "blanks", 0 - (slot and removed or tombstones))
end
if name then
  redis.call("HINCRBY", facts, "typed", 0 - #members)
end
if name and #members < limit then
  redis.call("ZREM", directory, name)
end
return { 0, now_floor, math.max(#members, (slot or name) and 1 or 0), removed }
