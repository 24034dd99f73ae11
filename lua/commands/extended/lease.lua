--[[
Lease jobs of extended queues (and of any others), or register that a server waits for them: one step. Each item takes up to count jobs from its
queues: in their order, or one from each in turn.

KEYS meta, queues, due, waiting, expiries, sending
ARGV clock_ms, deadline_ms, flag_ms, max_bytes, record
ITEM names, count, ttr_ms, least, turns, worker, pushed, types

Names are joined by commas; ttr_ms 0 = the job's own, or a minute; least: to be registered if fewer are found, 0 = never; above 1 the item comes alone,
and none is leased if fewer are found; turns "1": one from each queue in turn; worker "" = without a name; only extended jobs store it; pushed "1": jobs
go to their target, and are held while its breaker is open; types: of the jobs, each followed by a line feed, one that is empty = jobs without a type;
"" = any job.
Returns {status, now_ms, expired, next_ms, (found, (id, value, facts) × found) × N}. Found -1: there may be more, call again; -2: fewer than least, and
nothing has changed. Value: header as it was before the lease, then the body. Facts, each followed by a zero byte but for the last one: place of its
queue in names, from 1; when the lease ends, Unix ms; and of the job's hash attributes, type, tags, ctype, crashes, failures, progress, since, put,
tries, released; the lease number; and how long the lease may last in all, ms, "" = no limit. If the job has dependencies, one more: jobs/dependency_results.
Cost: O(log N) per job, plus up to 500 stale entries.
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, queues/ready_list_reader, queues/waiters, queues/next_job
--- @requires queues/turns, jobs/deliveries, extended/jobs, extended/settings, extended/timeline, extended/moves, extended/conversion
--- @requires extended/commit, leases/run_limit, limits/at_lease, jobs/dependency_results

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

local bytes, batch, batched, last_end = 0, { 0 }, 1, 0

-- What the worker gets beside the job's value. Nothing of it has a zero byte.
local function facts_of(x, place, ends)
  return text_of(place) .. "\0" .. text_of(ends) .. "\0" .. (x.attributes or "") .. "\0" .. (x.type or "") .. "\0" .. (x.tags or "") .. "\0" .. (x.ctype or "") .. "\0"
    .. (x.crashes or "") .. "\0" .. (x.failures or "") .. "\0" .. (x.progress or "") .. "\0" .. (x.since or "") .. "\0" .. (x.put or "") .. "\0"
    .. (x.tries or "") .. "\0" .. (x.released or "")
end

-- How long lists of dependencies this script reads: an entry takes as long as half a job.
local MOST_LISTED = 2048
local listed = 0

-- What a job gets of its dependencies, after all facts: it may have zero bytes.
local function results_for(job)
  local list = job.x.deps
  if not list then
    return ""
  end
  listed = listed + #list
  local results = dependency_results(job.id, list, job.x.results_of, false)
  -- guard: results-count-in-an-answer
  bytes = bytes + #results
  return "\0" .. results
end

-- Leases one job, and adds it to the reply.
local function lease_job(job, place, item, reply)
  local value = job.value or redis.call("GET", job_key(job.id))
  local ttr_ms = item.ttr_ms > 0 and item.ttr_ms or settings.own_ttr(job)
  local ends = now_ceil + ttr_ms
  if job.expires > 0 and job.expires < ends then
    ends = job.expires
  end
  local queue_run_ms = run_limit.queue_limit_for(job)
  -- guard: queue-run-limit-for-simple-jobs
  if queue_run_ms then
    conversion.make_extended(job)
  end
  conversion.make_room_for_lease(job)
  moves.leave(job)
  at_lease.spend(job)
  -- A simple job has no place for it.
  local worker = is_extended(job) and item.worker ~= "" and item.worker or nil
  if worker ~= job.x.worker then
    jobs.put(job, "worker", worker)
  end
  jobs.raise_lease(job)
  job.tries, job.attempts, job.was_free = job.tries - 1, math.min(job.attempts + 1, 65535), --[[ guard: free-mark-ends-extended ]] false
  if is_extended(job) then
    jobs.put(job, "leased", now_floor)
    run_limit.limit_lease(job, queue_run_ms)
    -- guard: lease-within-max-run
    ends = run_limit.within_run(job, ends)
  end
  moves.go(job, LEASED, ends)
  item.facts = item.facts and item.facts.attempt == job.attempts and item.facts.worker == worker and item.facts or { attempt = job.attempts, worker = worker }
  timeline.log_event("leased", job, item.facts)
  if record ~= "" then
    batch[batched + 1], batch[batched + 2], batched = struct.pack(TRIES_TO_LEASE, job.tries, job.attempts, job.lease), job.id, batched + 2
    last_end = math.max(last_end, ends)
  end
  local n, limit_ms = #reply, run_limit.limit_of(job)
  item.found, bytes = item.found + 1, bytes + #value
  reply[n + 1], reply[n + 2], reply[n + 3] = job.id, value, facts_of(job.x, place, ends) .. "\0" .. text_of(job.lease) .. "\0" .. (limit_ms and text_of(limit_ms) or "") .. results_for(job)
end

-- Whether this script may take one more job.
local function has_room()
  return bytes < max_bytes and --[[ guard: lists-of-a-script-are-bounded ]] listed < MOST_LISTED
end

-- Those of the types of an item that a queue gives; false = none of them.
local function allowed_types(list, types, paused)
  local allowed = list.allowed_of[types]
  if allowed == nil then
    allowed = {}
    for _, type in ipairs(types) do
      if not paused[type] then
        allowed[#allowed + 1], allowed[type] = type, true
      end
    end
    allowed = #allowed > 0 and allowed
    list.allowed_of[types] = allowed
  end
  return allowed
end

-- Leases the share of an item from one queue.
local function take_from(queue, share, item, reply)
  local number = registry.find_queue(queue.name)
  local list, before, types = number and ready_list_reader.ready_list_of(number), item.found, item.types
  local pauses = number and settings.settings_of(number).pauses
  if pauses and --[[ guard: paused-type-is-passed ]] next(pauses.t) then
    list.paused_types, list.allowed_of = pauses.t, list.allowed_of or {}
    types = types and allowed_types(list, types, pauses.t)
    list = types ~= false and list
  end
  for _ = 1, list and math.min(share, item.count - item.found) or 0 do
    local job = has_room() and at_lease.may_start(number) and next_job.next_live(list, math.min(share, item.count - item.found), item.is_pushed, types or nil)
    if job then
      lease_job(job, queue.place, item, reply)
    end
  end
  if item.in_turns and item.found > before then
    -- guard: served-queue-is-last
    turns.took_turn(queue.name, number)
  end
end

-- Read.
redis.call("EXISTS", meta, due, waiting, sending)
local reply, unserved = { 0, now_floor, 0, 0 }, {}
-- An item that takes several jobs together, or none.
local least, could_have = tonumber(ARGV[FIRST_ITEM + 3]), nil
if least > 1 then
  --- @requires queues/ready_bound
  could_have = ready_bound.may_have
end
local has_types, has_too_few = false, false
-- Whether one of some queues has a type that is paused.
local function has_paused_types(names)
  for name in string.gmatch(names, "[^,]+") do
    local number = registry.find_queue(name)
    local pauses = number and settings.settings_of(number).pauses
    if pauses and next(pauses.t) then
      return true
    end
  end
end
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  has_types = has_types or ARGV[i + 7] ~= "" or has_paused_types(ARGV[i])
end
local read_types, is_any_unordered, flag_types = nil, nil, nil
if has_types then
  --- @requires queues/type_order
  read_types, is_any_unordered, flag_types = type_order.types_of, type_order.has_unordered, type_order.add_flags
  for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
    for name in string.gmatch(ARGV[i], "[^,]+") do
      if ARGV[i + 7] ~= "" or has_paused_types(name) then
        type_order.order_queue(name)
      end
    end
  end
end
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local at, item = #reply + 1, { ttr_ms = tonumber(ARGV[i + 2]), worker = ARGV[i + 5], found = 0, count = tonumber(ARGV[i + 1]), in_turns = ARGV[i + 4] == "1", is_pushed = ARGV[i + 6] == "1" }
  item.types = read_types and read_types(ARGV[i + 7])
  reply[at] = 0
  local requested = turns.queues_of(ARGV[i], item.in_turns)
  -- To take a job costs as much as to count thousands: one shows whether there is any.
  if could_have and not could_have(requested, item.types, least) then
    item.count = 1
  end
  local share = item.in_turns and 1 or item.count
  -- Also no job of the other queues: it must not get one that comes later, nor fewer than there are.
  local is_again = is_any_unordered and is_any_unordered(requested)
  repeat
    local before = item.found
    for _, queue in ipairs(--[[ guard: queue-being-ordered-is-no-empty-one ]] is_again and {} or requested) do
      take_from(queue, share, item, reply)
    end
  until item.found == before or share > 1
  reply[at] = item.found == 0 and (is_again or next_job.looked >= next_job.LOOK_LIMIT or not has_room()) and -1 or item.found
  has_too_few = least > 1 and item.found > 0 and item.found < least and next_job.looked < next_job.LOOK_LIMIT and --[[ guard: full-answer-does-not-linger ]] has_room()
  if (reply[at] == 0 or --[[ guard: lingering-request-registers ]] has_too_few) and ARGV[i + 3] ~= "0" then
    if item.types then
      flag_types(unserved, requested, item.types)
    end
    -- What this script plans for the order by type is dropped with the leases.
    if not item.types or --[[ guard: unordered-queue-wakes-a-lingering-request ]] has_too_few then
      for _, queue in ipairs(requested) do
        unserved[#unserved + 1] = queue.name
      end
    end
  end
end

-- Nothing that was planned is done.
if --[[ guard: too-few-are-not-leased ]] has_too_few then
  waiters.register_flags(waiting, flag_ms, unserved)
  return { 0, now_floor, 0, 0, -2 }
end

-- Write: all lists are trimmed before anything is added.
table.insert(plan.frees, 1, function()
  for _, list in ipairs(ready_list_reader.ready_lists) do
    ready_list_reader.trim_ready_list(list)
  end
end)
reply[4] = commit(expiries)
deliveries.write_delivery_record(sending, record, batch, batched, last_end)
waiters.register_flags(waiting, flag_ms, unserved)
reply[3] = next_job.found_expired
return reply
