--[[
Count dead jobs, put them back or delete them: those of an index that match a filter, from a place on, or those that are named; one bounded step.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, verb, queue, filter, options, at, id, limit, scan_limit
ITEM id
verb: text           count, respawn, try (counts those that a respawn would put back now; changes nothing) or delete
queue: text          whose dead jobs; "" = all dead jobs of the filter's group
filter: text         JSON: what must hold (jobs/filters); from, to: time of death, Unix ms
options: text        JSON {ttl_ms, tries: number, "reset" or "keep", queue, no_push, most_queues, most_jobs}; queue: where they go, left out = where they
                     are; no_push: extended/own_url; most_…: the quotas, for jobs that go to another queue
at: text             time of death of the last job that was looked at, "" = from the first on
id: text             its id, "" = from the first of that time on
limit: integer       jobs to act on, at most
scan_limit: integer  jobs to read, at most

Returns {status, now_ms, next_ms, looked, at, id, (queue, done) × N}. Next_ms: the earliest timer that was set, 0 = none. Done: jobs of the queue that
matched; a job whose unique key another one holds, that the caller may not move, or for which its new queue has no room, stays dead and is not counted. At, id: where to go on, at "" = the end is reached.
Cost: O(scan_limit + limit log N).
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, queues/walks, jobs/filters
--- @requires extended/jobs, extended/indexes, extended/dead_jobs, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

if not registry.read_last_queue() then
  return { 0, now_floor, 0, 0, "", "" }
end

-- Read.
local wanted, request, verbs = cjson.decode(filter), cjson.decode(options), { respawn = dead_jobs.respawn, try = dead_jobs.respawn, delete = dead_jobs.delete_dead }
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local done, tally, looked, found, number = 0, {}, 0, {}, queue ~= "" and registry.find_queue(queue) or nil
for i = FIRST_ITEM, #ARGV do
  found[#found + 1] = { read_job(ARGV[i]) or false, ARGV[i], "0", "" }
end
if #ARGV < FIRST_ITEM and (number or queue == "") then
  local key = number and queue_key("d", number) or indexes.index_key("F", wanted.group)
  redis.call("EXISTS", meta, key)
  if at == "" and wanted.from then
    at = text_of(wanted.from)
  end
  found = walks.walk_index("d", false, key, at, id, scan_limit, number)
end
local is_over = #found < scan_limit
for _, place in ipairs(found) do
  local has_enough = done == limit or filters.bytes_seen > filters.MOST_BYTES
  if has_enough or wanted.to and tonumber(place[3]) > wanted.to then
    is_over = not has_enough
    break
  end
  local job, one = place[1], place[2]
  looked, at, id = looked + 1, place[3], place[4]
  if job and --[[ guard: dead-letter-dead-only ]] job.state == DEAD and filters.matches(job, filters.fields_of(job, one), wanted) and not jobs.known_jobs[one] then
    local name = registry.name_of(job.queue) or ""
    if verb == "count" or not verbs[verb](jobs.job_of(one), request) then
      done, tally[name] = done + 1, (tally[name] or 0) + 1
    end
  end
end

-- Write, unless what was planned was only to be counted.
table.insert(plan.early, registry.write_new_queues)
local reply = { 0, now_floor, --[[ guard: dry-respawn-writes-nothing ]] verb == "try" and 0 or commit(expiries), looked, is_over and "" or at, is_over and "" or id }
for name, count in pairs(tally) do
  reply[#reply + 1], reply[#reply + 2] = name, count
end
return reply
