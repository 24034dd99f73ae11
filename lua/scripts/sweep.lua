--[[
Look at one window of a queue's line for jobs that have expired: they are removed, and their places (and those of ghosts) blanked.
A pass goes from the end of the line to its head, so that nothing slips by while jobs are taken at the head. It takes over the queue's
place in expiries at its first window (skip 0) and gives it back at its last. Job keys are built from the prefix of meta (lib/keys).
A line that nobody consumes would in the end be made of blanks: those near its end, and those at its head, are taken out.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] number       the queue's
ARGV[4] skip         entries at the end of the line that this pass has seen, and that are still there
ARGV[5] earliest_ms  earliest expiry that this pass has seen, 0 = none
ARGV[6] mark         digits that no other pass has

Returns {status, now_ms, looked, expired, earliest_ms, removed}. Status: 0 done, 1 too late. Looked < 200: the pass is over. Removed: how many of
those that were looked at are no longer in the line.
Cost: O(200), plus the way to the window, plus the blanks at the head, 1,000 at most.
]]
local meta, expiries = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local number, skip, earliest_ms, mark = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/doom"
--- @include "lib/events"
--- @include "lib/unblank"

-- To take blanks out takes as long as the way to them: 0.1 ms for the farthest that are near.
local WINDOW, NEAR = 200, 5000

-- Look.
local ready, ghosts, info = queue_key("r", number), queue_key("g", number), queue_key("i", number)
redis.call("EXISTS", meta, ready, ghosts, info, expiries)
if skip > 0 and string.match(redis.call("HGET", info, "sweep") or "", "%.(%d+)$") ~= mark then
  -- Another pass has begun, and taken out what this one has counted.
  return { 0, now_floor, 0, 0, earliest_ms, 0 }
end
local entries = redis.call("LRANGE", ready, -skip - WINDOW, -skip - 1)
local doomed, dropped, blanked, blanks, expired = {}, {}, {}, 0, 0
for i, entry in ipairs(entries) do
  local id = string.sub(entry, 1, -2)
  local job = entry ~= "" and read_job(id)
  local here = is_here(job, entry, number)
  if here and (is_rich(job) or not is_expired(job)) then
    if job.expires > 0 and not is_rich(job) and (earliest_ms == 0 or job.expires < earliest_ms) then
      earliest_ms = job.expires
    end
  elseif entry == "" then
    blanks = blanks + 1
  else
    blanked[#blanked + 1] = i - 1 - #entries - skip
    if here then
      doom(doomed, id, job.flags)
      expired = expired + 1
      event_in(number, "expired", id)
    else
      dropped[#dropped + 1] = entry
    end
  end
end

-- Write.
if #doomed > 0 then
  redis.call("DEL", unpack(doomed))
end
--- @include "lib/return_bytes"
if #dropped > 0 then
  redis.call("SREM", ghosts, unpack(dropped))
end
if skip == 0 then
  redis.call("ZREM", expiries, number)
end
for _, index in ipairs(blanked) do
  redis.call("LSET", ready, index, "")
end
local removed = skip <= NEAR and blanks + #blanked or 0
local gone = unblank(ready, removed)
if #blanked ~= gone then
  redis.call("HINCRBY", info, "blanks", #blanked - gone)
end
if #entries < WINDOW then
  redis.call("HDEL", info, "sweep")
  if earliest_ms > 0 then
    redis.call("ZADD", expiries, "LT", earliest_ms, number)
  end
else
  -- Nobody else begins a pass while this one goes on. Should its server die, the mark gets old, and another one starts the pass again.
  redis.call("HSET", info, "sweep", text_of(now_floor) .. "." .. mark)
end
write_events()
return { 0, now_floor, #entries, expired, earliest_ms, removed }
