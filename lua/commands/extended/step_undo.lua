--[[
Do a step of the undo of an operation: take records of jobs, and bring the jobs back, in one. So a job comes back once, whatever is killed. Or stop it.

KEYS meta, queues, due, waiting, expiries
ARGV clock_ms, deadline_ms, id, reason, limit, quotas
id: text        of the operation
reason: text    why it is to stop, "" = it goes on
limit: integer  jobs to bring back, at most
quotas: text    as in extended/publish; jobs that come back must keep to them

Returns {status, now_ms, code, at_ms, next_ms}. Code: 0 no undo runs, 1 it runs, 2 it is done, 3 it is stopped. At_ms: when the next step may be done, Unix ms.
Next_ms: the earliest timer that was set, 0 = none.
Cost: O(limit log N).
]]

--- @requires core/call, core/plan, queues/notify, queues/registry, limits/store_room, extended/commit, operations/records
--- @requires operations/undo_keys, operations/restore

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
notify.watch_waiters(waiting)
start_plan(due)

-- Bytes of records that a step reads, more or less; and when one goes on that can only wait for others.
local MOST_BYTES, LATER_MS = 524288, 100
local FIELDS = { "undo", "undo_done", "undo_failed", "undo_refusals", "undo_partly" }

records.touch_operation(id, due)
local record, values = {}, redis.call("HMGET", records.operation_key(id), unpack(FIELDS))
for i, field in ipairs(FIELDS) do
  record[field] = values[i] or nil
end
if record.undo ~= records.UNDOING then
  return { 0, now_floor, 0, 0, 0 }
elseif reason == "" and --[[ guard: undo-stops-when-full ]] store_room.is_store_full() then
  reason = "store_full"
end
if reason ~= "" then
  records.end_undo(id, reason)
  return { 0, now_floor, 3, 0, 0 }
elseif not registry.read_last_queue() then
  return { 2, now_floor }
end
restore.start_restore(quotas)

-- Read. The jobs that ended last come first. A job that can only come back after others goes behind those; one that must wait for a timer, behind all.
redis.call("EXISTS", meta, queues, due, waiting, expiries)
local ids_key, records_key = touch(undo_keys.undo_ids_key(id)), touch(undo_keys.undo_records_key(id))
local stack = redis.call("LRANGE", ids_key, -limit, -1)
local rest, popped = redis.call("LLEN", ids_key) - #stack, #stack
local refusals, partly = cjson.decode(record.undo_refusals or "{}"), cjson.decode(record.undo_partly or "{}")
local handled, postponed, taken, restored, failed = {}, {}, 0, 0, 0

local function count(counts, name)
  counts[name] = (counts[name] or 0) + 1
end

-- A record that is empty is of a job that could not come back.
local function record_of(job_id)
  return not handled[job_id] and redis.call("HGET", records_key, job_id) or nil
end

local looked = 0
local function waits_for(needs)
  local open, is_lost = {}, false
  looked = looked + #needs
  for _, need in ipairs(needs) do
    local is_kept = not handled[need] and redis.call("HSTRLEN", records_key, need) > 0
    open[#open + 1] = is_kept and need or nil
    is_lost = is_lost or not is_kept and (handled[need] == "failed" or not handled[need] and redis.call("HEXISTS", records_key, need) == 1)
  end
  return open, is_lost
end

local function postpone(job_id)
  if not postponed[job_id] then
    postponed[job_id], postponed[#postponed + 1] = true, job_id
  end
end

-- Jobs that it waits for come before it, unless they wait themselves.
local function put_behind(job_id, open)
  for _, need in ipairs(open) do
    if postponed[need] then
      return postpone(job_id)
    end
  end
  stack[#stack + 1] = job_id
  for _, need in ipairs(open) do
    stack[#stack + 1] = need
  end
end

local function bring_back(job_id, text)
  local why, more = restore(job_id, text, id, waits_for)
  if why == "later" and #more == 0 then
    return postpone(job_id)
  elseif why == "later" then
    return put_behind(job_id, more)
  end
  taken = taken + 1
  if why then
    handled[job_id], failed = "failed", failed + 1
    count(refusals, why)
    write("HSET", records_key, job_id, "")
    return
  end
  handled[job_id], restored = "restored", restored + 1
  free("HDEL", records_key, job_id)
  for what, is_so in pairs(more or {}) do
    if is_so then
      count(partly, what)
    end
  end
end

while #stack > 0 and taken < limit and looked < limit * 4 and restore.bytes_restored < MOST_BYTES do
  local job_id = table.remove(stack)
  local text = not postponed[job_id] and record_of(job_id)
  looked = looked + 1
  if text and text ~= "" then
    bring_back(job_id, text)
  end
end

-- Write.
local function push(command, ids)
  if #ids > 0 then
    write(command, ids_key, unpack(ids))
  end
end
if popped > 0 then
  free("LTRIM", ids_key, 0, -popped - 1)
end
push("RPUSH", stack)
push("LPUSH", postponed)
registry.keep_new_queues(restore.queues_used)
table.insert(plan.early, registry.write_new_queues)
local is_over = rest + #stack + #postponed == 0
restore.hold_strict_orders(is_over)
local next_ms = commit(expiries)
redis.call("HSET", records.operation_key(id), "undo_done", text_of((record.undo_done or 0) + restored), "undo_failed", text_of((record.undo_failed or 0) + failed),
  "undo_refusals", cjson.encode(refusals), "undo_partly", cjson.encode(partly))
local at_ms = taken == 0 and #postponed > 0 and now_floor + LATER_MS or now_floor
if is_over then
  records.end_undo(id, "")
else
  records.claim_operation(id, due, at_ms)
end
return { 0, now_floor, is_over and 2 or 1, at_ms, next_ms }
