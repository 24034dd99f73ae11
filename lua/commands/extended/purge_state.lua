--[[
Remove jobs of a queue that are in a state, one bounded step of it; or only look how many there are. Job keys are built from the prefix of meta (core/call).

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] due          zset: queue number -> earliest due time, Unix ms
KEYS[4] waiting      hash: queue name -> end of a server's registration, Unix ms
KEYS[5] expiries     zset: queue number -> earliest expiry of a ready job, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] state        the number of the state (core/header)
ARGV[5] limit        jobs to look at, at most
ARGV[6] skip         of jobs that are kept when they have ended, how many were skipped
ARGV[7] removes      "0" = only look at jobs that have ended

Returns {status, now_ms, looked, matched, kept, next_ms}. Status: 0 done, 1 too late. Looked 0: there are no more. Matched: removed, or
only looked at. Kept: of those that have ended, how many stay where they are. Next_ms: the earliest timer that was set, 0 = none.
Cost: O(limit log N).
]]
local meta, queues, due, waiting, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock_ms, deadline_ms, queue, state, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local skip, removes = tonumber(ARGV[6]), ARGV[7]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, queues/ready_list_reader, queues/next_job, jobs/schedule
--- @requires extended/jobs, extended/moves, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
watch_waiters(waiting)
start_plan(due)

local number = find_queue(queue)
if not number then
  return { 0, now_floor, 0, 0, 0, 0 }
end
queue_names[number] = queue

-- Where jobs of a state are, by the letters of their indexes; each index gives up to what is left of limit.
local PLACES, places = { "pr", "Ssf", "Ll", "d", "b", "h", "z", "z" }, {}
local seen, matched, passed = 0, 0, 0

local function purge(job)
  matched = matched + 1
  remove(job)
end

local function from_zset(kind)
  local key, first = queue_key(kind, number), kind == "z" and skip or 0
  for _, id in ipairs(limit > seen and redis.call("ZRANGE", touch(key), first, first + limit - seen - 1) or {}) do
    local job = job_of(id)
    local is_wanted = job and job.state == state and job.queue == number
    seen = seen + 1
    if is_wanted and removes == "1" then
      purge(job)
    elseif job and kind == "z" then
      passed, matched = passed + 1, matched + (is_wanted and 1 or 0)
    else
      remove_member(key, id)
    end
  end
end
for kind in string.gmatch("pSsLldbhz", ".") do
  places[kind] = from_zset
end

-- The ready list, from its head, and the lists of far slots. Entries without a job are dropped too.
function places.r()
  local list = ready_list_of(number)
  table.insert(frees, 1, function()
    trim_ready_list(list)
  end)
  local job = seen < limit and next_in_list(list, limit - seen)
  while job do
    seen = seen + 1
    purge(job)
    job = seen < limit and next_in_list(list, limit - seen)
  end
end

function places.f()
  local slot = limit > seen and redis.call("ZRANGE", touch(queue_key("f", number)), 0, 0)[1]
  if not slot then
    return
  end
  local key, room = touch(slot_key(number, slot)), limit - seen
  local entries = redis.call("LRANGE", key, 0, room - 1)
  free("LTRIM", key, #entries, -1)
  if #entries < room then
    remove_member(queue_key("f", number), slot)
  end
  seen = seen + math.max(#entries, 1)
  for _, entry in ipairs(entries) do
    local id = string.sub(entry, 7, -2)
    local job = job_of(id)
    local is_there = job and job.state == SCHEDULED and job.queue == number and job.entry == string.byte(entry, -1)
    if is_there and not redis.call("ZSCORE", queue_key("s", number), id) then
      purge(job)
    end
  end
end

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
for kind in string.gmatch(PLACES[state], ".") do
  places[kind](kind)
end

-- Write.
local next_ms = commit(expiries)
return { 0, now_floor, seen + looked, matched, passed, next_ms }
