--[[
Remove jobs from one index of a queue, whatever they are: one bounded step of purging it. Nobody is told, and nothing that waits for a job
or counts it learns of it: the whole namespace goes. Keys of jobs are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] kind         of the index, as queue_key has it: r = the line, f = far slots, else a zset of ids
ARGV[5] limit        members to look at, at most

Returns {status, now_ms, looked, removed}. Status: 0 done, 1 too late. Looked 0: the index is empty.
Cost: O(limit log N).
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local queue, kind, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/named_keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/slots"
--- @include "lib/doom"
--- @include "lib/slot_keys"

local number = find_queue(queue)
if not number then
  return { 0, now_floor, 0, 0 }
end

-- Look.
local index, info, ghosts = queue_key(kind, number), queue_key("i", number), queue_key("g", number)
redis.call("EXISTS", meta, index, info, ghosts)
local slot = kind == "f" and redis.call("ZRANGE", index, 0, 0)[1]
local list = kind == "r" and index or slot and slot_key(number, slot)
local members, doomed, removed, blanks, gone = {}, {}, 0, 0, {}
if list then
  redis.call("EXISTS", meta, list)
  members = redis.call("LRANGE", list, 0, limit - 1)
elseif kind ~= "f" then
  members = redis.call("ZRANGE", index, 0, limit - 1)
end
for _, member in ipairs(members) do
  local id = kind == "r" and string.sub(member, 1, -2) or slot and string.sub(member, 7, -2) or member
  local job = member ~= "" and read_job(id)
  local here = job and job.queue == number
  if kind == "r" then
    here = is_here(job, member, number)
  elseif slot then
    here = here and job.state == SCHEDULED and job.entry == string.byte(member, -1)
  end
  if here then
    doom(doomed, id, job.flags)
    if is_rich(job) then
      for edge in string.gmatch("nufmv", ".") do
        doomed[#doomed + 1] = named_key(edge, id)
      end
      add_slot_keys(doomed, id, number)
    end
    removed = removed + 1
  elseif member == "" then
    blanks = blanks + 1
  elseif kind == "r" then
    gone[#gone + 1] = member
  end
end
for first = 1, #doomed, 100 do
  redis.call("EXISTS", meta, unpack(doomed, first, math.min(first + 99, #doomed)))
end

-- Write.
if list then
  redis.call("LTRIM", list, #members, -1)
elseif #members > 0 then
  redis.call("ZREMRANGEBYRANK", index, 0, #members - 1)
end
if #doomed > 0 then
  redis.call("UNLINK", unpack(doomed))
end
--- @include "lib/return_bytes"
if #gone > 0 then
  redis.call("SREM", ghosts, unpack(gone))
end
if slot and #members < limit then
  redis.call("ZREM", index, slot)
end
if slot or blanks > 0 then
  -- Not by a minus sign: Redis takes "-0" for no number.
  redis.call("HINCRBY", info, slot and "far" or "blanks", 0 - (slot and removed or blanks))
end
return { 0, now_floor, math.max(#members, slot and 1 or 0), removed }
