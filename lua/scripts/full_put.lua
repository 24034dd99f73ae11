--[[
Store jobs of the full lane, all or none: ready, scheduled or blocked. Their queues become full ones. Keys of jobs: lib/keys.

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] quotas       "queues,jobs of a queue,bytes,number of items": what may be there at most (lib/quotas), "" = anything
ARGV[4] replaces     the id whose place the first item takes, "" = none
ARGV[5] digest       names the note of its idempotency key (lib/noted), "" = it has none
ARGV[6] fingerprint  16 bytes, of the request
ARGV[7] ttl_ms       how long the note lasts, ms
ARGV[8..] item × N   options, id, body, needs

Options: JSON {queue, delay_ms, due_ms, ttl_ms, tries, priority, minted, unique: {mode, window_ms, own_queue}, x}; x: fields of the job's hash as
they are stored. Needs: the ids of jobs that must be done first, each after a byte with its length.
Returns {status, now_ms, codes, states, next_ms, holder × codes 5 and 6}. Status: 0 done, 1 too late, 2 the namespace is not registered,
3 the key has its note: {3, now_ms, what it says}, 4 of another request.
Codes: a digit per item; 0 stored, 6 the holder of its unique key stands for it; with any other, nothing has changed: 1 the id is taken,
2 to 4 a quota (lib/full/room), 7 its queue is drained, 5 its unique key is held. States: a digit per item, 0 = gone. Next_ms: the earliest timer, 0 = none.
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, quotas, replaces = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local digest, fingerprint, ttl_ms = ARGV[5], ARGV[6], ARGV[7]

--- @include "lib/full"
--- @include "lib/full/ids"
--- @include "lib/noted"
local once = digest ~= "" and notes.under(digest, fingerprint)
if once then
  return { once.is_same and 3 or 4, now_floor, once.rest }
end
local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

--- @include "lib/jobs_in"
--- @include "lib/quotas"
--- @include "lib/new_queues"
--- @include "lib/draining"
--- @include "lib/full/room"
--- @include "lib/full/defaults"
--- @include "lib/full/new"
--- @include "lib/full/debounce"
--- @include "lib/full/claim_key"
--- @include "lib/full/taken"

-- Look.
local codes, states, fresh, holders, stand_ins, who, refused = {}, {}, {}, {}, {}, {}, false
for i = 8, #ARGV, 4 do
  local n, options, id, body = #codes + 1, cjson.decode(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  codes[n], options.needs = "1", ids_in(ARGV[i + 3])
  use_defaults(options)
  local is_there = not options.minted or redis.call("EXISTS", job_key(id)) == 1 -- Sent again, for its answer was lost.
  local present = jobs[id] or is_there and job_of(id)
  if replaces == "" and is_draining(number_of(options.queue)) then
    codes[n] = "7"
  elseif not is_taken(id, present, options.minted) then
    codes[n], holders[#holders + 1] = claim_key(options, id, body)
    codes[n] = codes[n] == "0" and room_for_job(number_of(options.queue), options.queue, #body) or codes[n]
  end
  refused = refused or codes[n] ~= "0" and codes[n] ~= "6"
  stand_ins[n], states[n] = codes[n] == "6" and job_of(holders[#holders]) or nil, 0
  who[n] = codes[n] == "6" and holders[#holders] or id
  if codes[n] == "0" then
    fresh[#fresh + 1] = { n = n, options = options, job = new_job(options, id, body, present) }
  end
end
if refused then
  return { 0, now_floor, table.concat(codes), "", 0, unpack(holders) }
end
local old = replaces ~= "" and job_of(replaces)
if old and fresh[1] and old.queue == fresh[1].job.queue then
  leave(old)
  conclude(old, nil, "replaced")
end
for _, item in ipairs(fresh) do
  place_new(item.job, item.options)
  states[item.n] = item.job.state
end
place_debounced()
for n, job in pairs(stand_ins) do
  states[n] = job.state
end

-- Write.
if digest ~= "" then
  for n, id in ipairs(who) do
    who[n] = notes.of_job(states[n], codes[n] == "6", id)
  end
  write("SET", queue_key("k", digest), fingerprint .. table.concat(who), "PX", ttl_ms)
end
table.insert(marks, write_new_queues)
local next_ms = commit()
return { 0, now_floor, table.concat(codes), table.concat(states), next_ms, unpack(holders) }
