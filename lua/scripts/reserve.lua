--[[
Lease ready jobs, or register that somebody waits: one step, so that no job slips in between. Each item takes up to count jobs from
its queues in their order. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] flag_ms      how long a registration lasts, ms
ARGV[4] max_bytes    stop taking jobs when this many bytes are on their way out
ARGV[5..] item × N   names, count, enough, ttr_ms, waits

Names are joined by commas; waits is "1" to be registered when fewer than enough are found.
Returns {status, now_ms, now_ceil_ms, (found, (id, value) × found) × N, expired}. Status: 0 done, 1 too late.
Found: jobs leased; -1 - jobs leased = there may be more, ask again. As text where jobs have attributes or the item has several
names: found, then a line for each job: which of the names, from 1, a space, its attributes.
Value: header as it was before the lease, then the body. Expired: jobs met past their ttl, and removed.
Cost: O(log N) per job, plus up to 1,000 dead entries.
]]
local meta, queues, due, waiting = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local flag_ms, max_bytes = tonumber(ARGV[3]), tonumber(ARGV[4])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/window"
--- @include "lib/line"
--- @include "lib/values"
--- @include "lib/lease"
--- @include "lib/doom"
--- @include "lib/next_live"
--- @include "lib/register_interest"

-- Look.
redis.call("EXISTS", meta, due, waiting)
local wanted = 0
for i = 5, #ARGV, 5 do
  wanted = wanted + ARGV[i + 1]
end
local reply, bytes, unserved = { 0, now_floor, now_ceil }, 0, {}

for i = 5, #ARGV, 5 do
  local found_at, found, again, place, notes, is_noted = #reply + 1, 0, false, 0, {}, false
  local count, ttr_ms = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3])
  reply[found_at] = 0
  for name in string.gmatch(ARGV[i], "[^,]+") do
    place, is_noted = place + 1, is_noted or place > 0
    local number = not again and found < count and find_queue(name)
    local line = number and line_of(number)
    while line and not line.ended and found < count and not again do
      again = bytes >= max_bytes
      local id, value, flags
      if not again then
        id, value, flags = lease_next(line, wanted, ttr_ms)
        again = not id and value == true
        line.ended = not id and not again
      end
      if id then
        local attributes = flags % 2 == HAS_EXTRAS and redis.call("HGET", extras_key(id), "attributes") or ""
        found, bytes, is_noted = found + 1, bytes + #value, is_noted or attributes ~= ""
        reply[#reply + 1] = id
        reply[#reply + 1] = value
        notes[found] = "\n" .. place .. " " .. attributes
      end
    end
  end
  reply[found_at] = again and -1 - found or found
  if is_noted and found > 0 then
    reply[found_at] = reply[found_at] .. table.concat(notes)
  end
  if found < tonumber(ARGV[i + 2]) and not again and ARGV[i + 4] == "1" then
    unserved[#unserved + 1] = ARGV[i]
  end
end

-- Write: all lists are cut before anything is added.
local expired = 0
for _, line in ipairs(order) do
  cut_line(line)
  expired = expired + line.expired
end
--- @include "lib/give_back"
for _, line in ipairs(order) do
  write_leases(line)
end
write_values()
register_interest(unserved)
reply[#reply + 1] = expired
return reply
