--[[
Store jobs that come from another store, with their ids and in the state in which they were there. Each has a name under which it is
known to have come: it comes once, even if it has been done since. Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
KEYS[6] imported     set: the names of the jobs that came
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] keep_ms      how long the names are remembered, ms
ARGV[4..] item × N   options, id, source, body

Options: "state,tries,attempts,ttl_ms,at_ms,queue,attributes". At_ms: when it is due or its lease ends, Unix ms. Source: its name.
Returns {status, now_ms, codes}. Status: 0 done, 1 too late, 2 the namespace is not registered.
Codes: a digit per item: 0 stored, 1 it came before, 2 another queue has a job with this id (then nothing has changed for this item).
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries, imported = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock_ms, deadline_ms, keep_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/slots"
--- @include "lib/schedule"
--- @include "lib/values"
--- @include "lib/doom"
--- @include "lib/remove"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

--- @include "lib/new_queues"
--- @include "lib/arrivals"

-- Look.
redis.call("EXISTS", due, expiries, imported)
local codes, plans, sources, seen = {}, {}, {}, {}
for i = 4, #ARGV, 4 do
  local id, source = ARGV[i + 1], ARGV[i + 2]
  local arrival, n = read_arrival(ARGV[i]), #codes + 1
  local present = not seen[id] and read_job(id)
  if seen[source] or redis.call("SISMEMBER", imported, source) == 1 then
    codes[n] = 1
  elseif seen[id] then
    codes[n] = seen[id] == arrival.queue and 1 or 2
  elseif present and not is_expired(present) then
    codes[n] = present.queue == find_queue(arrival.queue) and 1 or 2
  else
    codes[n], seen[source], seen[id] = 0, true, arrival.queue
    plan_arrival(arrival, id, ARGV[i + 3], present)
    plans[#plans + 1], sources[#sources + 1] = arrival, source
  end
end

-- Write.
remove_planned()
write_new_queues()
for _, arrival in ipairs(plans) do
  place_arrival(arrival)
end
write_schedule()
write_values()
write_lines("RPUSH")
if #sources > 0 then
  redis.call("SADD", imported, unpack(sources))
  redis.call("PEXPIRE", imported, keep_ms)
end
--- @include "lib/return_bytes"
return { 0, now_floor, table.concat(codes) }
