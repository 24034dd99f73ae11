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
ARGV[5..] item × N   names, count, ttr_ms, waits

Names are joined by commas; waits is "1" to be registered when nothing is found.
Returns {status, now_ms, (found, (id, value, place, lease_ends_ms, attributes) × found) × N, expired}. Status: 0 done, 1 too late.
Found: jobs leased; -1 = not found so far, ask again. Value: header as it was before the lease, then the body.
Place: which of the names, from 1. Expired: jobs met past their ttl, and removed.
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
--- @include "lib/line"
--- @include "lib/next_live"
--- @include "lib/write_leases"
--- @include "lib/register_interest"

-- Look.
redis.call("EXISTS", meta, due, waiting)
local wanted = 0
for i = 5, #ARGV, 4 do
  wanted = math.min(wanted + ARGV[i + 1], 100)
end
local reply, lines, order, bytes, unserved = { 0, now_floor }, {}, {}, 0, {}
for i = 5, #ARGV, 4 do
  local found_at, found, again, place = #reply + 1, 0, false, 0
  local count, ttr_ms = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  reply[found_at] = 0
  for name in string.gmatch(ARGV[i], "[^,]+") do
    place = place + 1
    local number = find_queue(name)
    local line = number and lines[number]
    if number and not line then
      line = open_line(number)
      lines[number] = line
      order[#order + 1] = line
    end
    while line and not line.ended and found < count and not again do
      local id, job, value
      if bytes >= max_bytes then
        again = true
      else
        id, job, value = next_live(line, wanted)
        again = not id and job == true
        line.ended = not id and not again
      end
      if id then
        found, bytes = found + 1, bytes + #value
        local ends = now_ceil + ttr_ms
        if job.expires > 0 and job.expires < ends then
          ends = job.expires
        end
        line.leased[#line.leased + 1], line.leased[id] = { id = id, job = job, ends = ends }, true
        local attributes = job.flags % 2 == HAS_EXTRAS and redis.call("HGET", extras_key(id), "attributes") or ""
        local n = #reply
        reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = id, value, place, ends, attributes
      end
    end
    if found == count or again then
      break
    end
  end
  reply[found_at] = found == 0 and again and -1 or found
  if found == 0 and not again and ARGV[i + 3] == "1" then
    unserved[#unserved + 1] = ARGV[i]
  end
end

-- Write: all lists are cut before anything is added.
local expired = 0
for _, line in ipairs(order) do
  cut_line(line)
  expired = expired + line.expired
end
for _, line in ipairs(order) do
  write_leases(line)
end
register_interest(unserved)
reply[#reply + 1] = expired
return reply
