--[[
Lease operations, each item for itself: ack, release, retry, fail, heartbeat, undo, revoke. Jobs may be simple or extended, in queues of either kind.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms
ITEM verb, id, lease, options, bytes

Verb: ack (lease 0 = any lease, any state), release, retry, fail, heartbeat, undo, revoke and force_fail (lease 0: whatever the lease; force_fail: any
state but an end). Options: JSON, by verb
(modules/leases); bytes: of an ack first new data, data_bytes long, then a result or what it depends on next (extended/dependencies); of the others
new data; "" = none.
Returns {status, now_ms, next_ms, (code, state, at, facts) × N}. Code: 0 no such job, 1 done, 2 its lease is lost, 3 and 4 as ack's, 5 never leased, 6
refused: see facts, 7 not leased, or for force_fail: ended, 8 not done, as the search for cycles was too long for one script with other items: send it
again alone. State: in which it is now, 0 = gone or expired; at: when it is due or its lease ends, Unix ms; facts: JSON, "" =
none.
Cost: O(log N) per item, and O(its dependencies). The searches for cycles of all items read up to 4,000 jobs and dependencies.
]]

--- @requires core/call, core/header, core/plan, queues/notify, queues/registry, extended/jobs, extended/commit, extended/own_url, leases/claims, leases/acknowledge, limits/byte_room, limits/store_room
--- @requires leases/failures, leases/give_back, limits/held_jobs

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

-- A purged namespace has no jobs. It is not registered for an operation on one of them.
if not registry.read_last_queue() then
  local none = --[[ guard: settle-registers-no-namespace ]] { 0, now_floor, 0 }
  for _ = FIRST_ITEM, #ARGV, ITEM_SIZE do
    local n = #none
    none[n + 1], none[n + 2], none[n + 3], none[n + 4] = 0, 0, 0, ""
  end
  return none
end

-- A revoked lease ends as one that its holder gives back.
local verbs = { ack = acknowledge.ack, release = give_back.release, revoke = give_back.release, retry = failures.retry, fail = failures.fail, force_fail = failures.force_fail, heartbeat = give_back.heartbeat, undo = give_back.undo }

local function changes_what_is_pushed(job, options)
  return options.has_data or options.data_bytes or options.next and options.next.queue ~= registry.name_of(job.queue)
end

-- New data is part of the work, so that it is not left out: beyond the quota on bytes, or in a full Redis, the operation is refused, and no other one of
-- the call. An acknowledged job that is not kept has none. Returns the facts of the refusal; nil = there is none.
local function refusal_of(job, verb, options, bytes)
  if changes_what_is_pushed(job, options) and --[[ guard: job-push-url-settled ]] own_url.lacks_push(job, options) then
    return '{"refused":"verb_missing"}'
  end
  local size = options.data_bytes or options.has_data and #bytes
  if not size or verb == "ack" and not options.next and (options.keep_ms or tonumber(job.x.keep or 0)) == 0 then
    return nil
  end
  local growth = size - jobs.body_bytes_of(job)
  if growth > 0 and --[[ guard: settle-data-store-full ]] store_room.is_store_full() then
    return '{"refused":"store_full"}'
  elseif --[[ guard: settle-data-within-quota ]] not byte_room.has_byte_room(job, growth, options.most_bytes) then
    return '{"refused":"namespace_full","present":' .. text_of(byte_room.present_bytes()) .. "}"
  end
end

-- Read. Most operations of a batch have the same options, which nothing changes.
redis.call("EXISTS", meta, due, waiting, expiries)
local reply, read = { 0, now_floor, 0 }, {}
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local verb, id, lease, text = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  local options = read[text] or cjson.decode(text)
  read[text] = options
  local job, n = jobs.job_of(id), #reply
  local code = claims.claim_on(job, verb, lease, options)
  local at, facts = 0, code == 2 and job.x and job.x.revoked == text_of(lease) and '{"reason":"revoked"}' or ""
  if code ~= 0 and code ~= 2 and code ~= 7 then
    local refusal = refusal_of(job, verb, options, ARGV[i + 4])
    if refusal then
      code, facts = 6, refusal
    else
      claims.record_worker(lease > 0 and verb ~= "undo" and job.x.worker, options.most_workers)
      code, at, facts = verbs[verb](job, options, ARGV[i + 4], code)
    end
  end
  -- Now, as the job itself may be held at first, and get a slot.
  held_jobs.call_all_held()
  local is_there = job and not job.is_gone and --[[ guard: lost-expired-is-gone ]] not is_expired(job)
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = code, is_there and job.state or 0, at or 0, facts or ""
end

-- Write.
table.insert(plan.early, registry.write_new_queues)
reply[3] = commit(expiries)
return reply
