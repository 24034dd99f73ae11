--[[
What owners of leases say of their jobs, each item for itself: done, given back, to be tried again, failed for good, or still at it.
Jobs may be plain or rich, in queues of either kind. Keys of jobs are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   verb, id, lease, options, bytes

Verb: ack (lease 0 = any owner, any state), release, retry, fail, beat, undo. Options: JSON of the verb's own (lib/full/verbs); bytes: a
result, new data, or what it is to wait for next (lib/full/ids), "" = none. Returns {status, now_ms, next_ms, (code, state, at, facts) × N}. Status: 0 done, 1 too late, 2 the
namespace is not registered. Code: 0 no such job, 1 done, 2 its lease is lost, 3 and 4 as ack's, 5 never leased, 6 refused: see facts.
State: in which it is now, 0 = gone; at: when it is due or its lease ends, Unix ms; facts: JSON, "" = none.
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/full"
--- @include "lib/full/retry"
--- @include "lib/full/ids"
--- @include "lib/full/circle"
--- @include "lib/full/refuse"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor, 0 }
end

--- @include "lib/new_queues"
--- @include "lib/full/claim"
--- @include "lib/full/verbs"
--- @include "lib/full/beat"
--- @include "lib/full/go_on"
--- @include "lib/full/done"
--- @include "lib/full/blame"

-- Look.
redis.call("EXISTS", meta, due, waiting, expiries)
local reply = { 0, now_floor, 0 }
for i = 3, #ARGV, 5 do
  local verb, id, lease, options = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), cjson.decode(ARGV[i + 3])
  local job, n = job_of(id), #reply
  local code = claim_on(job, verb, lease, options)
  local at, facts = 0, ""
  if code ~= 0 and code ~= 2 then
    see(lease > 0 and verb ~= "undo" and job.x.worker)
    code, at, facts = verbs[verb](job, options, ARGV[i + 4], code)
  end
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = code, job and not job.is_gone and job.state or 0, at or 0, facts or ""
end

-- Write.
table.insert(marks, write_new_queues)
reply[3] = commit()
return reply
