--[[
Remove jobs of a queue that are in a state, one bounded step of it; or only look how many there are.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, queue, state, limit, skip, removes
state: integer  the number of the state (core/header)
limit: integer  jobs to look at, at most
skip: integer   of jobs that are kept when they have ended, how many were skipped
removes: text   "0" = only look at jobs that have ended

Returns {status, now_ms, looked, matched, kept, next_ms}. Looked 0: there are no more. Matched: removed, or only looked at. Kept: of those that have
ended, how many stay where they are. Next_ms: the earliest timer that was set, 0 = none.
Cost: O(limit log N).
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, queues/type_keys, queues/fair_keys, queues/ready_list_reader, queues/next_job
--- @requires jobs/schedule, extended/jobs, extended/moves, extended/commit

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

local number = registry.find_queue(queue)
if not number then
  return { 0, now_floor, 0, 0, 0, 0 }
end
registry.queue_names[number] = queue

-- Where jobs of a state are, by the letters of their indexes; each index gives up to what is left of limit.
local KINDS, places = { "pDQr", "Ssf", "Ll", "d", "b", "h", "z", "z" }, {}
local seen, matched, passed = 0, 0, 0

local function purge(job)
  matched = matched + 1
  moves.remove(job)
end

local function from_zset(kind, key)
  local first = kind == "z" and skip or 0
  key = key or queue_key(kind, number)
  for _, id in ipairs(limit > seen and redis.call("ZRANGE", touch(key), first, first + limit - seen - 1) or {}) do
    local job = jobs.job_of(id)
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

-- The lists of types, in the order of their heads, and those of fair keys, in the order of their turns.
local function from_lists(kind, directory, key_of)
  for _, name in ipairs(limit > seen and redis.call("ZRANGE", touch(directory), 0, limit - seen - 1) or {}) do
    from_zset(kind, key_of(number, name))
  end
end

function places.D()
  from_lists("D", type_keys.directory_key(number), type_keys.list_key)
end

function places.Q()
  from_lists("Q", fair_keys.turns_key(number), fair_keys.fair_list_key)
end

-- The ready list, from its head, and the lists of far slots. Entries without a job are dropped too.
function places.r()
  local list = ready_list_reader.ready_list_of(number)
  table.insert(plan.frees, 1, function()
    ready_list_reader.trim_ready_list(list)
  end)
  local job = seen < limit and next_job.next_in_list(list, limit - seen)
  while job do
    seen = seen + 1
    purge(job)
    job = seen < limit and next_job.next_in_list(list, limit - seen)
  end
end

function places.f()
  local slot = limit > seen and redis.call("ZRANGE", touch(queue_key("f", number)), 0, 0)[1]
  if not slot then
    return
  end
  local key, room = touch(schedule.slot_key(number, slot)), limit - seen
  local entries = redis.call("LRANGE", key, 0, room - 1)
  free("LTRIM", key, #entries, -1)
  if #entries < room then
    remove_member(queue_key("f", number), slot)
  end
  seen = seen + math.max(#entries, 1)
  for _, entry in ipairs(entries) do
    local id = string.sub(entry, 7, -2)
    local job = jobs.job_of(id)
    local is_there = job and job.state == SCHEDULED and job.queue == number and job.entry == string.byte(entry, -1)
    if is_there and not redis.call("ZSCORE", queue_key("s", number), id) then
      purge(job)
    end
  end
end

-- Read.
redis.call("EXISTS", meta, due, waiting, expiries)
for kind in string.gmatch(KINDS[state], ".") do
  places[kind](kind)
end

-- Write.
local next_ms = commit(expiries)
return { 0, now_floor, seen + next_job.looked, matched, passed, next_ms }
