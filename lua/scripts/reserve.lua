--[[
Lease ready jobs, or register that somebody waits: one step, so that no job slips in between. Each item takes up to count jobs from
its queues in their order. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] sending      hash: record -> leases whose answers may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] flag_ms      how long a registration lasts, ms
ARGV[4] max_bytes    stop taking jobs when this many bytes are on their way out
ARGV[5] record       under which name the leases are noted until their answers have left, "" = they are not
ARGV[6..] item × N   names, count, enough, ttr_ms, waits

Names are joined by commas; waits is "1" to be registered when fewer than enough are found.
Returns {status, now_ms, now_ceil_ms, (found, (id, value) × found) × N, expired}. Status: 0 done, 1 too late.
Found: jobs leased; -1 - jobs leased = there may be more, ask again; -1000000 = a full queue, ask the full lane. As text where jobs have attributes or the item has several
names: found, then a line for each job: which of the names, from 1, a space, its attributes.
Value: header as it was before the lease, then the body. Expired: jobs met past their ttl, and removed.
Cost: O(log N) per job, plus up to 1,000 dead entries.
]]
local meta, queues, due, waiting, sending = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, flag_ms, max_bytes, record = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/events"
--- @include "lib/find_queue"
--- @include "lib/window"
--- @include "lib/line"
--- @include "lib/values"
--- @include "lib/lease"
--- @include "lib/record"
--- @include "lib/doom"
--- @include "lib/pass_by"
--- @include "lib/take_here"
--- @include "lib/take"
--- @include "lib/notes"
--- @include "lib/register_interest"

-- Look.
redis.call("EXISTS", meta, due, waiting, record ~= "" and sending or meta)
-- How many jobs all items together want of each queue: so long is the first stretch of its line that is read.
local wanted, unserved = {}, {}
for i = 6, #ARGV, 5 do
  for name in string.gmatch(ARGV[i], "[^,]+") do
    wanted[name] = (wanted[name] or 0) + ARGV[i + 1]
  end
end

for i = 6, #ARGV, 5 do
  local found, again, upto, attributes_of = 0, false, {}, {}
  local count, ttr_ms = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3])
  filled = filled + 1
  local found_at = filled
  for name in string.gmatch(ARGV[i], "[^,]+") do
    local number = not again and found < count and find_queue(name)
    if number and full[name] then
      again, found, number = true, found > 0 and found or ELSEWHERE, false
    end
    if number then
      local taken
      taken, again = take(line_of(number), count - found, wanted[name], ttr_ms, found, attributes_of)
      found = found + taken
    end
    upto[#upto + 1] = found
  end
  reply[found_at] = again and -1 - found or found
  if filled > found_at and (#upto > 1 or next(attributes_of)) then
    reply[found_at] = with_notes(reply[found_at], found, upto, attributes_of)
  end
  if found < tonumber(ARGV[i + 2]) and not again and ARGV[i + 4] == "1" then
    unserved[#unserved + 1] = ARGV[i]
  end
end

-- Write: all lists are cut before anything is added.
for _, line in ipairs(order) do
  cut_line(line)
end
--- @include "lib/return_bytes"
for _, line in ipairs(order) do
  write_leases(line)
end
write_values()
write_record()
write_events()
register_interest(unserved)
reply[filled + 1] = expired
return reply
