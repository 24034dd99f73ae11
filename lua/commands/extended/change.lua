--[[
Change a job that waits: its data, due time, place and dependencies; or write an entry into the timeline of a job in any state. A full Redis refuses
what adds to the job.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, id, options, data, adds, drops
options: text  JSON {priority, due_ms, delay_ms, ttl_ms, queue, tags, tries, type, retry, has_data, ctype, only, refuse_missing, log: {message, json}, no_push,
               most_bytes, most_queues, most_jobs}: the changes (extended/changes); refuse_missing: a job for each of adds must be there; no_push:
               extended/own_url; most_…: the quotas
data: text     its new body
adds: text     ids of jobs that it depends on from now on (extended/dependencies); only: on no others
drops: text    ids of jobs that it does not depend on any more

Returns {status, now_ms, next_ms, code, state, due_ms, died, missing}. Next_ms: the earliest timer that was set, 0 = none. Code: 0 no such job, 1 changed, 2 it
does not wait, 3 it would depend on itself, 4 on too many jobs, 5 its due time is not known, 6 it has used as many tries (due_ms says how many), 7 it
would grow beyond the quota (due_ms says how many bytes there are), 8 who may not push must not change it, 9 there is no job for one of adds, 10 there are
too many queues, 11 its new queue is full (due_ms says how many there are). Unless 1, nothing has changed. Due_ms: of a scheduled job, 0 = none or not known.
Died: the queue in which it died because a dependency had failed, "" = none. Missing: the numbers of the ids of adds that no job has
(dependencies.missing_of); "" = all are there.
Cost: O(log N), and O(adds + drops + all dependencies of the job). With adds a search for cycles reads up to 4,000 jobs and dependencies.
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, limits/store_room, limits/byte_room
--- @requires limits/beside_bytes
--- @requires extended/jobs, extended/dependencies, extended/changes, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

if not registry.read_last_queue() then
  return { 2, now_floor, 0, 0, 0, 0, "", "" }
end

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
local job, wish = jobs.job_of(id), cjson.decode(options)
local grows = job and (wish.log or wish.has_data and #data > jobs.body_bytes_of(job) or #(wish.tags or "") > #(job.x.tags or "") or adds ~= "")
if grows and --[[ guard: job-change-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
local more = dependencies.ids_in(adds)
local missing = dependencies.missing_of(more)
local code, present = changes.change(job, wish, data, more, dependencies.ids_in(drops), missing ~= "")
if code == 1 and (grows or wish.type or wish.retry) and not job.is_gone then
  local growth = beside_bytes(job.x) - (job.x.beside or 0) + (job.body and #job.body - redis.call("STRLEN", job.key) + HEADER_BYTES or 0)
  if not byte_room.has_byte_room(job, growth, wish.most_bytes) then
    return { 0, now_floor, 0, 7, 0, byte_room.present_bytes(), "", "" }
  end
end
if code ~= 1 then
  return { 0, now_floor, 0, code, job and job.state or 0, present or 0, "", missing }
end

-- Write.
table.insert(plan.early, registry.write_new_queues)
local next_ms = commit(expiries)
return { 0, now_floor, next_ms, 1, job.is_gone and 0 or job.state, job.state == SCHEDULED and job.due_at or 0,
  job.has_failed_by_dependency and registry.name_of(job.queue) or "", missing }
