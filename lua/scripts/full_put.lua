--[[
Store jobs of the full lane, all or none: ready, scheduled or blocked. Their queues become full ones. Keys of jobs are built from the
prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] quotas       "queues,jobs of a queue,bytes,number of items": what may be there at most (lib/quotas), "" = anything
ARGV[4] replaces     the id whose place the first item takes, "" = none
ARGV[5..] item × N   options, id, body, needs

Options: JSON {queue, delay_ms, due_ms, ttl_ms, tries, priority, minted, x}; x: fields of the job's hash as they are stored.
Needs: the ids of jobs that must be done first, each after a byte with its length.
Returns {status, now_ms, codes, states, next_ms}. Status: 0 done, 1 too late, 2 the namespace is not registered.
Codes: a digit per item; all 0 = stored; else nothing has changed: 1 the id is taken, 2 to 4 and 7 as lib/full_room
has them. States: a digit per item. Next_ms: the earliest timer that was set, 0 = none.
Cost: O(log N) per item.
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, quotas, replaces = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"
--- @include "lib/notify"
--- @include "lib/enter"
--- @include "lib/line_up"
--- @include "lib/full_lane"
--- @include "lib/full_die"
--- @include "lib/full_wait"
--- @include "lib/full_fall"
--- @include "lib/full_tie"
--- @include "lib/full_ties"
--- @include "lib/full_ids"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor }
end

--- @include "lib/quotas"
--- @include "lib/new_queues"
--- @include "lib/draining"
--- @include "lib/full_room"
--- @include "lib/full_defaults"
--- @include "lib/full_new"

-- Look.
local codes, states, fresh, refused = {}, {}, {}, false
for i = 5, #ARGV, 4 do
  local n, options, id, body = #codes + 1, cjson.decode(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  local present = jobs[id] or not options.minted and job_of(id)
  -- As long as some wait to be told of the end of the job that had it, it has its id.
  local is_taken = present and (present.x.users or not is_expired(present))
    or not options.minted and redis.call("HEXISTS", space_key("ended"), id) == 1
  codes[n], options.needs = is_taken and "1" or room_for_job(number_of(options.queue), options.queue, #body), ids_in(ARGV[i + 3])
  refused = refused or codes[n] ~= "0"
  if codes[n] == "0" then
    fresh[n] = { options = options, job = new_job(options, id, body, present) }
    states[n] = fresh[n].job.state
  end
end
if refused then
  return { 0, now_floor, table.concat(codes), "", 0 }
end
local old = replaces ~= "" and job_of(replaces)
if old and old.queue == fresh[1].job.queue then
  leave(old)
  conclude(old, nil, "replaced")
end
for n, item in ipairs(fresh) do
  place_new(item.job, item.options)
  states[n] = item.job.state
end

-- Write.
table.insert(marks, write_new_queues)
local next_ms = commit()
return { 0, now_floor, table.concat(codes), table.concat(states), next_ms }
