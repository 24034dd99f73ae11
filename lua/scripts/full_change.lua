--[[
Change a job that waits: what it is, when it is due, where it stands, what it waits for; or write a line into the timeline of one in any
state. Keys of jobs are built from the prefix of meta (lib/keys).

KEYS[1] meta         hash: the namespace's marker; its last_queue is the newest queue's number
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of some server's interest, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] id           the job's
ARGV[4] options      JSON {priority, due_ms, delay_ms, ttl_ms, queue, tags, has_data, ctype, only, log: {message, json}}: what is to be changed (lib/full/alter)
ARGV[5] data         its new body
ARGV[6] adds         ids of jobs that it is to wait for too (lib/full/ids); only: for no others
ARGV[7] drops        ids of jobs that it is not to wait for any more

Returns {status, now_ms, next_ms, code, state, due_ms}. Status: 0 done, 1 too late, 2 the namespace is not registered. Next_ms: the
earliest timer that was set, 0 = none. Code: 0 no such job, 1 changed, 2 it does not wait, 3 it would wait for itself, 4 it would wait for
too many, 5 its due time is not known. But for 1, nothing has changed. Due_ms: of a scheduled job, 0 = none or not known.
Cost: O(log N), and O(adds + drops).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, id, options = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local data, adds, drops = ARGV[5], ARGV[6], ARGV[7]

--- @include "lib/full"
--- @include "lib/full/ids"
--- @include "lib/full/circle"
--- @include "lib/full/refuse"
--- @include "lib/full/age"
--- @include "lib/full/stand"

local last_queue = tonumber(redis.call("HGET", meta, "last_queue"))
if not last_queue then
  return { 2, now_floor, 0, 0, 0, 0 }
end

--- @include "lib/new_queues"
--- @include "lib/full/alter"
--- @include "lib/full/untie"
--- @include "lib/full/replace"
--- @include "lib/full/keep_order"
--- @include "lib/full/shift"
--- @include "lib/full/change"

-- Look.
redis.call("EXISTS", meta, due, waiting, expiries)
local job, wish = job_of(id), cjson.decode(options)
local code = change(job, wish, data, ids_in(adds), ids_in(drops))
if code ~= 1 then
  return { 0, now_floor, 0, code, job and job.state or 0, 0 }
end

-- Write.
table.insert(marks, write_new_queues)
local next_ms = commit()
return { 0, now_floor, next_ms, 1, job.is_gone and 0 or job.state, job.state == SCHEDULED and job.due_at or 0 }
