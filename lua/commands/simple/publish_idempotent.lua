--[[
Publish under an idempotency key: store the jobs of one call, all or none, and in the same step a record of what was stored. A call whose
key has a record is answered from it, and nothing changes. The keys of jobs and of the record are built from the prefix of meta (core/call). The
record has a TTL of Redis's own (jobs/publish).

KEYS[1] meta         hash: the namespace's marker; last_queue is the newest queue's number, bytes what counts for the quota on bytes
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] replaces     the id of the job that the first item replaces, "" = none
ARGV[4] quotas       "queues,jobs of a queue,bytes,items of each call…": the most that may be there (limits/quotas), "" = no quotas
ARGV[5] digest       16 bytes, of the queue and the idempotency key
ARGV[6] fingerprint  16 bytes, of the request
ARGV[7] ttl_ms       how long the record lasts, ms
ARGV[8] form         of the record: "ids", one after the other, or "jobs"
ARGV[9..] item × N   options, id, body

Options: as publish takes them. Returns {status, now_ms, verdict, stored}. Status: 0 done, 1 too late, 2 the namespace is not registered, 3 the
job that it replaces is an extended one: use the extended path.
Verdict: 0 stored now; nothing changed: 1 the id is in use, 2 to 4 a quota refuses the call (limits/quotas), 7 or 8 settings of its queue do
(jobs/publish); 5 stored before, see stored; 6 the key was used for another request.
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, replaces, quotas = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local digest, fingerprint, ttl_ms, form = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

--- @requires core/call, core/header, queues/registry, queues/notify, jobs/publish

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)

-- Before the marker is looked at: a namespace may be forgotten when all its jobs are done, and the record is good all the same. A record that has
-- not arrived yet, in a slot that is moving here, is not missed: the keys of the call's own jobs, which have not arrived either, end the script.
local record = read_idempotency_record(digest, fingerprint)
if record then
  return { 0, now_floor, record.is_same and 5 or 6, record.stored }
end
if not read_last_queue() then
  return { 2, now_floor }
end

-- Read. While there is a quota on bytes, new jobs have a flag: they count for it.
local counted_flag, stored_bytes = quotas ~= "" and not string.find(quotas, "^%d+,%d+,0,") and COUNTED or 0, 0
local codes, keys, old = plan_publish(ARGV, 9, replaces, counted_flag, due, expiries)
if old and is_extended(old) then
  return { 3, now_floor, "" }
end
if next(is_extended_queue) then
  --- @requires limits/queue_settings
  refuse_by_settings(ARGV, 9, codes, publish_kinds, old)
end
if quotas ~= "" then
  --- @requires limits/quotas
  stored_bytes = admit_calls(quotas, ARGV, 9, codes, publish_kinds, old, replaces)
end

-- Write.
write_publish(ARGV, 9, codes, keys, old, replaces, counted_flag > 0 and stored_bytes or 0, due, expiries)
if codes[1] == "0" then
  local stored = {}
  for i = 9, #ARGV, 3 do
    local id = ARGV[i + 1]
    stored[#stored + 1] = form == "ids" and id or idempotency_entry(publish_kinds[ARGV[i]].due and SCHEDULED or READY, false, id)
  end
  redis.call("SET", queue_key("k", digest), fingerprint .. table.concat(stored), "PX", ttl_ms)
end
return { 0, now_floor, tonumber(codes[1]), "" }
