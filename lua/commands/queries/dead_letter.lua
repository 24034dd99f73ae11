--[[
Count dead jobs, put them back or delete them: those of an index that match a filter, from a place on, or those that are named; one
bounded step. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] verb         count, respawn or delete
ARGV[4] queue        whose dead jobs; "" = all dead jobs of the filter's group
ARGV[5] filter       JSON: what must hold (jobs/filters); from, to: time of death, Unix ms
ARGV[6] options      JSON {ttl_ms, tries: number, "reset" or "keep", queue}; queue: where they go, left out = where they are
ARGV[7] at           time of death of the last job that was looked at, "" = from the first on
ARGV[8] id           its id, "" = from the first of that time on
ARGV[9] limit        jobs to act on, at most
ARGV[10] scan_limit  jobs to read, at most
ARGV[11..] item × N  id

Returns {status, now_ms, next_ms, looked, at, id, (queue, done) × N}. Status: 0 done, 1 too late. Next_ms: the earliest timer
that was set, 0 = none. Done: jobs of the queue that matched; a job whose unique
key another one holds stays dead and is not counted. At, id: where to go on, at "" = the end is reached.
Cost: O(scan_limit + limit log N).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, verb, queue, filter = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local options, at, id, limit, scan_limit = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, queues/walks, jobs/filters
--- @requires extended/jobs, extended/indexes, extended/dead_jobs, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
start_plan(due)

if not read_last_queue() then
  return { 0, now_floor, 0, 0, "", "" }
end

-- Read.
local wanted, request, verbs = cjson.decode(filter), cjson.decode(options), { respawn = respawn, delete = delete_dead }
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local done, tally, looked, found, number = 0, {}, 0, {}, queue ~= "" and find_queue(queue) or nil
for i = 11, #ARGV do
  found[#found + 1] = { read_job(ARGV[i]) or false, ARGV[i], "0", "" }
end
if #ARGV < 11 and (number or queue == "") then
  local key = number and queue_key("d", number) or index_key("F", wanted.group)
  redis.call("EXISTS", meta, key)
  if at == "" and wanted.from then
    at = text_of(wanted.from)
  end
  found = walk_on(key, at, id, scan_limit, number, "d")
end
local is_over = #found < scan_limit
for _, place in ipairs(found) do
  local has_enough = done == limit or bytes_seen > MOST_BYTES
  if has_enough or wanted.to and tonumber(place[3]) > wanted.to then
    is_over = not has_enough
    break
  end
  local job, one = place[1], place[2]
  looked, at, id = looked + 1, place[3], place[4]
  if job and --[[ guard: dead-letter-dead-only ]] job.state == DEAD and matches(job, fields_of(job, one), wanted) and not jobs[one] then
    local name = name_of(job.queue) or ""
    if verb == "count" or verbs[verb](job_of(one), request) ~= false then
      done, tally[name] = done + 1, (tally[name] or 0) + 1
    end
  end
end

-- Write.
table.insert(early_steps, write_new_queues)
local reply = { 0, now_floor, commit(expiries), looked, is_over and "" or at, is_over and "" or id }
for name, count in pairs(tally) do
  reply[#reply + 1], reply[#reply + 2] = name, count
end
return reply
