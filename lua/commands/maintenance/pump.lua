--[[
Move what is due, in up to limit steps: scheduled jobs to the end of their ready lists; jobs whose lease expired likewise, or to the dead-letter queue
when no try is left (a lease whose response may not have left costs no try), or to the timers of the extended path (jobs/hand_over); expired jobs
away. With the steps that are left, jobs in slots that are near go to the zset of scheduled jobs.

KEYS meta, due, waiting, expiries, sending, queues
ARGV clock_ms, deadline_ms, limit
limit: integer  jobs to look at, at most

Returns {status, now_ms, next_due_ms, due, returned, died, expired, earliest_ms, is_extended_due, (queue, returned, died) × N}. Next_due_ms: when to
call again, 0 = nothing to wait for, in the past = at once. Earliest_ms: the oldest due time that was served, 0 = none. Is_extended_due: 1 = a timer
of the extended path is due.
Cost: O(limit log N).
]]

--- @requires core/call, core/header, core/values, queues/notify, queues/ready_list
--- @requires jobs/schedule, jobs/removal, jobs/events, jobs/deliveries, jobs/hand_over

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)

local counts, earliest = { due = 0, returned = 0, died = 0, expired = 0 }, math.huge
local expired_keys, dead_jobs = {}, {}

-- Plans what becomes of one member of a zset of scheduled ("s") or leased ("l") jobs. The fields of the header stay single values: a table for each job
-- was a sixth of the script.
local function plan_move(kind, number, name, id, value)
  local api, state, flags, priority, tries, attempts, lease, at, entry, expires, free_retries = struct.unpack(HEADER, value or NO_JOB)
  -- A job whose key Redis removed, and that was published again under its own id, is elsewhere: this is a member that the earlier job left.
  -- guard: due-time-is-of-one-job
  local is_its_own = at == number and state == (kind == "s" and SCHEDULED or LEASED)
  local is_free = is_its_own and kind == "l" and free_retries < --[[ guard: simple-free-retries-end ]] deliveries.MAX_FREE_RETRIES and --[[ guard: pump-reads-delivery-log ]] deliveries.is_undelivered(sending, id, value)
  local what = kind == "s" and "ready" or "timed_out"
  -- guard: pump-checks-expiry
  local has_ended = expires > 0 and expires <= now_floor
  if not is_its_own or has_ended and --[[ guard: limited-queue-ttl-ends ]] not (kind == "l" and hand_over.has_lease_settings(number)) then
    counts.expired, what = counts.expired + 1, is_its_own and "expired"
    if is_its_own then
      removal.mark_for_deletion(expired_keys, id, flags)
    end
  elseif kind == "l" and --[[ guard: undelivered-lease-follows-settings ]] (--[[ guard: expired-simple-obeys-settings ]] hand_over.has_lease_settings(number) or --[[ guard: native-job-waits-by-its-policy ]] not is_free and api == NATIVE_API) then
    hand_over.plan_hand_over(id, value, number, name)
    what = nil
  --[[ guard: pump-charges-last-try ]] elseif kind == "l" and tries == 0 and not is_free then
    counts.died, what = counts.died + 1, "died"
    deliveries.count_expired_lease("died", name)
    local head = struct.pack(HEADER, api, DEAD, flags, priority, tries, attempts, lease, at, entry, 0, --[[ guard: dead-keeps-uncharged-try ]] --[[ guard: dead-keeps-free-retries ]] free_retries)
    local job = { id = id, number = number, head = head, keys = {} }
    add_keys(job.keys, id, flags)
    dead_jobs[#dead_jobs + 1] = job
  else
    local how = kind == "s" and "due" or "returned"
    counts[how] = counts[how] + 1
    if kind == "l" then
      deliveries.count_expired_lease(how, name)
    end
    local list = ready_list.entries_for(number, name)
    local head = string.char(api, READY) .. string.sub(value, FLAGS_FROM, ENTRY_AT - 1) .. string.char(ready_list.add_entry(list, id, entry))
    ready_list.track_expiry(list, expires)
    put_head(job_key(id), value, is_free and deliveries.with_free_retry(head, value, tries, free_retries) or head, not headers_only[id])
  end
  if events.has_subscribers ~= false and what then
    events.emit(what, name, id, is_free and '{"charged":false}' or what == "died" and '{"reason":"lease_expired"}')
  end
end

-- Plans for up to a share of what is due in a zset. Returns the ids.
local function plan_due(kind, number, name, share)
  local key = queue_key(kind, number)
  local ids = redis.call("ZRANGEBYSCORE", key, "-inf", now_floor, "LIMIT", 0, math.min(share, limit))
  limit = limit - #ids
  for i, value in ipairs(read_values(ids)) do
    plan_move(kind, number, name, ids[i], value)
  end
  local first = #ids > 0 and redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2] or earliest
  earliest = math.min(earliest, tonumber(first))
  return ids
end

local function plan_queue(number, share)
  local name = redis.call("HGET", queue_key("i", number), "name")
  local slot, is_late = schedule.near_slot(number)
  local step = { number = number, scheduled = {}, leased = {} }
  -- A late slot goes first and alone: else its jobs would come behind jobs that were due later.
  -- guard: late-slot-first
  if not is_late then
    step.scheduled = plan_due("s", number, name, share)
    step.leased = plan_due("l", number, name, share * 2 - #step.scheduled)
  end
  -- Within its share: a slot of a million must not keep other queues waiting.
  local quota = --[[ guard: huge-slot-bounded-step ]] math.min(limit, share * 2 - #step.scheduled - #step.leased)
  if slot and quota > 0 then
    step.opened = schedule.open_slot(number, slot, quota)
    limit = limit - step.opened.looked
  end
  return step
end

-- Members were read from the lowest score on: to remove them by rank costs half of what it costs by name.
local function drop_first(kind, number, count)
  if count > 0 then
    redis.call("ZREMRANGEBYRANK", queue_key(kind, number), 0, count - 1)
  end
end

-- To the dead-letter queue, where nothing expires. Jobs of data format 1 have a TTL of Redis's own.
local function write_dead(job)
  redis.call("SETRANGE", job_key(job.id), 0, job.head)
  for _, key in ipairs(job.keys) do
    -- guard: dead-list-has-no-ttl
    redis.call("PERSIST", key)
  end
  redis.call("ZADD", queue_key("d", job.number), now_floor, job.id)
end

-- Read. While a slot moves to another node, an index that this script empties counts as moved for the rest of the script: what was taken out of it
-- could not be written elsewhere. A key that never exists makes Redis answer TRYAGAIN before the first write until the whole slot has moved.
redis.call("EXISTS", meta, expiries, --[[ guard: pump-touches-first ]] namespace_key("never"))
local plan, is_extended_due = {}, 0
local numbers = redis.call("ZRANGEBYSCORE", due, "-inf", now_floor, "LIMIT", 0, 32)
local share = math.ceil(limit / math.max(#numbers, 1) / 2)
for _, text in ipairs(numbers) do
  if text == EXTENDED_TIMERS then
    is_extended_due = 1
  else
    plan[#plan + 1] = plan_queue(tonumber(text), share)
  end
end

-- Write: every member of an index goes before anything is added.
-- guard: pump-frees-before-it-adds
for _, step in ipairs(plan) do
  redis.call("ZREM", due, step.number)
  drop_first("s", step.number, #step.scheduled)
  drop_first("l", step.number, #step.leased)
  if step.opened then
    schedule.write_opened(step.opened, due)
  end
end
if #expired_keys > 0 then
  redis.call("DEL", unpack(expired_keys))
end
removal.return_freed_bytes()
for _, job in ipairs(dead_jobs) do
  write_dead(job)
end
write_values()
if hand_over.write_hand_over(due) then
  is_extended_due = 1
end
for _, step in ipairs(plan) do
  local next_due
  for _, kind in ipairs({ "s", "l", "f" }) do
    local head = redis.call("ZRANGE", queue_key(kind, step.number), 0, 0, "WITHSCORES")[2]
    next_due = head and math.min(next_due or math.huge, tonumber(head)) or next_due
  end
  if next_due then
    redis.call("ZADD", due, next_due, step.number)
  end
end
ready_list.write_ready_lists("RPUSH", expiries)
events.write_events()
local next_due = tonumber(redis.call("ZRANGE", due, 0, 0, "WITHSCORES")[2] or 0)
earliest = earliest < math.huge and earliest or 0
return deliveries.with_expired_leases({ 0, now_floor, next_due, counts.due, counts.returned, counts.died, counts.expired, earliest, is_extended_due })
