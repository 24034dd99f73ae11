--[[
Store jobs, each with its place in a line: ready now, or scheduled. The first may replace a job, which is removed in the same step.
Job keys are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number, its bytes are those that count for a quota
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] replaces     the id whose place the first item takes, "" = none
ARGV[4] quotas       "queues,jobs of a queue,bytes,items of each call…": what may be there at most (lib/quotas), "" = anything
ARGV[5..] item × N   options, id, body

Options: "delay_ms,ttl_ms,tries,minted,queue,attributes", read once for all items that share them; minted 1 or 3: the id never lived;
2 or 3: a native job, which is not stored here if its queue has defaults.
Returns {status, now_ms, codes}. Status: 0 done, 1 too late, 2 the namespace is not registered, 3 the job that it
replaces is a rich one: ask the full lane.
Codes: a digit per item: 0 stored, 1 the id is taken (nothing changed for this item), or the code with which its whole call was refused
because of a quota (lib/admit), or 7 or 8: its queue has settings (lib/refuse_full).
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, replaces, quotas = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

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

--- @include "lib/quotas"
--- @include "lib/new_queues"
--- @include "lib/options"

-- Look: every key that will be written is touched first, so that a slot that is moving stops the script before it changes anything.
local args, before = ARGV, 2
local keys, extras, taken, codes, n = { meta }, { meta }, {}, {}, 0
for i = 5, #ARGV, 3 do
--- @include "lib/plan_item"
end
--- @include "lib/meet"
--- @include "lib/refuse_full"
--- @include "lib/admit"
if old and codes[1] == "0" then
  plan_removal(replaces, old.state, old.queue, old.entry, old.flags)
end

-- Write.
--- @include "lib/store"
--- @include "lib/return_bytes"
return { 0, now_floor, table.concat(codes) }
