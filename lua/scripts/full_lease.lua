--[[
Lease jobs of full queues (and of any others), or register that somebody waits: one step. Each item takes up to count jobs from its
queues: in their order, or one from each in turn. Keys of jobs are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
KEYS[6] sending      hash: record -> leases whose answers may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] flag_ms      how long a registration lasts, ms
ARGV[4] max_bytes    stop taking jobs when this many bytes are on their way out
ARGV[5] record       under which name the leases are noted until their answers have left, "" = they are not
ARGV[6..] item × N   names, count, ttr_ms, waits, turns, worker

Names are joined by commas; ttr_ms 0 = the job's own, or a minute; waits "1": to be registered if nothing is found; turns "1": one from
each queue in turn; worker "" = nameless.
Returns {status, now_ms, expired, next_ms, (found, (id, value, facts) × found) × N}. Status: 0 done, 1 too late. Found -1: there may be
more, ask again. Value: header as it was before the lease, then the body. Facts: JSON {queue: place in names, from 1; ends: Unix ms; x: fields of the job's hash}.
Cost: O(log N) per job, plus up to 500 dead entries.
]]
local meta, queues, due, waiting, expiries, sending = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock_ms, deadline_ms, flag_ms, max_bytes, record = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

--- @include "lib/full"
--- @include "lib/line"
--- @include "lib/register_interest"

local expired, bytes, batch, batched, last_end = 0, 0, { 0 }, 1, 0
--- @include "lib/full/list"
--- @include "lib/full/hold"
--- @include "lib/full/age"
--- @include "lib/full/take"
--- @include "lib/record"
--- @include "lib/full/facts"
--- @include "lib/full/lease"
--- @include "lib/full/turns"
--- @include "lib/full/share"

-- Look.
redis.call("EXISTS", meta, due, waiting, sending)
local reply, unserved = { 0, now_floor, 0, 0 }, {}
for i = 6, #ARGV, 6 do
  local at, item = #reply + 1, { ttr_ms = tonumber(ARGV[i + 2]), worker = ARGV[i + 5], found = 0, count = tonumber(ARGV[i + 1]), in_turns = ARGV[i + 4] == "1" }
  reply[at] = 0
  see(item.worker)
  local asked, share = queues_of(ARGV[i], item.in_turns), item.in_turns and 1 or item.count
  repeat
    local before = item.found
    for _, queue in ipairs(asked) do
      take_from(queue, share, item, reply)
    end
  until item.found == before or share > 1
  reply[at] = item.found == 0 and (looked >= LOOK_LIMIT or bytes >= max_bytes) and -1 or item.found
  if reply[at] == 0 and ARGV[i + 3] == "1" then
    unserved[#unserved + 1] = ARGV[i]
  end
end

-- Write: all lists are cut before anything is added.
local function cut_lines()
  for _, line in ipairs(order) do
    cut_line(line)
  end
end
table.insert(frees, 1, cut_lines)
reply[4] = commit()
write_record()
register_interest(unserved)
reply[3] = expired
return reply
