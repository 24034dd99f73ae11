--[[
Remove jobs from the head of a queue's line, one bounded step of destroying it. Scheduled, leased and dead jobs stay.
Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] limit        entries to look at, at most

Returns {status, now_ms, looked, removed, left}. Status: 0 done, 1 too late, 3 a full queue: ask the full lane. Left: entries that remain in the line.
Cost: O(limit).
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms, queue, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/line"
--- @include "lib/doom"
--- @include "lib/events"

local number = find_queue(queue)
if full[queue] then
  return { 3, now_floor }
end
if not number then
  return { 0, now_floor, 0, 0, 0 }
end

-- Look.
local ready, ghosts, info = queue_key("r", number), queue_key("g", number), queue_key("i", number)
redis.call("EXISTS", meta, ready, ghosts, info)
local entries = redis.call("LRANGE", ready, 0, limit - 1)
local line, removed = { number = number, taken = #entries, doomed = {}, ghosts = {}, blanks = 0 }, 0
for _, entry in ipairs(entries) do
  local id = string.sub(entry, 1, -2)
  local job = entry ~= "" and read_job(id)
  if entry == "" then
    line.blanks = line.blanks + 1
  elseif is_here(job, entry, number) then
    doom(line.doomed, id, job.flags)
    removed = removed + 1
    event("deleted", queue, id)
  else
    line.ghosts[#line.ghosts + 1] = entry
  end
end

-- Write.
cut_line(line)
--- @include "lib/return_bytes"
write_events()
return { 0, now_floor, #entries, removed, redis.call("LLEN", ready) }
