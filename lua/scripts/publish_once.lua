--[[
Publish under an idempotency key: store the jobs of one call, all or none, and note in the same step under the key what was stored. A
key that has its note is answered from it, and nothing changes. The keys of jobs and of the note are built from the prefix of meta
(lib/keys): the note is a string of the request's fingerprint and what was stored (lib/noted), with a TTL of Redis's own.

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number, its bytes are those that count for a quota
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] replaces     the id whose place the first item takes, "" = none
ARGV[4] quotas       "queues,jobs of a queue,bytes,items of each call…": what may be there at most (lib/quotas), "" = anything
ARGV[5] digest       16 bytes, of the queue and the idempotency key
ARGV[6] fingerprint  16 bytes, of the request
ARGV[7] ttl_ms       how long the note lasts, ms
ARGV[8] form         of the note: ids, one after the other, or jobs
ARGV[9..] item × N   options, id, body

Options: as publish takes them. Returns {status, now_ms, verdict, noted}. Status: 0 done, 1 too late, 2 the namespace is not registered, 3 the job that it
replaces is a rich one: ask the full lane.
Verdict: 0 stored now; 1 the id is taken, or 2 to 4 a quota refuses the call (lib/admit), nothing changed; 5 stored before: see
noted; 6 the key was used for another request.
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, replaces, quotas = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local digest, fingerprint, ttl_ms, form = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

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
--- @include "lib/noted"
--- @include "lib/remove"

-- Before the namespace is asked for: it may be forgotten when all is done, and the note is good all the same. A note that is still on
-- its way, in a slot that is moving here, is not missed: no publish gets past the keys of its own jobs, which are not there yet either.
local noted = notes.under(digest, fingerprint)
if noted then
  return { 0, now_floor, noted.is_same and 5 or 6, noted.rest }
end

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

--- @include "lib/quotas"
--- @include "lib/new_queues"
--- @include "lib/options"

-- Look: every key that will be written is touched first, so that a slot that is moving stops the script before it changes anything.
local args, before = ARGV, 6
local keys, extras, taken, codes, n = { meta }, { meta }, {}, {}, 0
for i = 9, #ARGV, 3 do
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
if codes[1] == "0" then
  local rest = {}
  for item = 1, n do
    local id = args[item * 3 + before + 1]
    rest[item] = form == "ids" and id or notes.of_job(kinds[args[item * 3 + before]].due and SCHEDULED or READY, false, id)
  end
  redis.call("SET", queue_key("k", digest), fingerprint .. table.concat(rest), "PX", ttl_ms)
end
return { 0, now_floor, tonumber(codes[1]), "" }
