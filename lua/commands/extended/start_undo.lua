--[[
Begin to undo an operation, or go on with it: jobs that it cancelled or deleted come back. extended/step_undo does the work.

KEYS meta, queues, due
ARGV clock_ms, deadline_ms, id, most_running
ITEM field, value
id: text               of the operation
most_running: integer  operations of the namespace that run at once

Field, value: of the record: who begins it.
Returns {status, now_ms, code, next_ms}. Code: 0 no such operation, 1 it runs by now, 2 it was done before, 3 the operation itself runs, 4 nothing is kept of it,
5 it was kept until its time was over, 6 until Redis was full, 7 too many operations run. Next_ms: when another server takes over, 0 = it does not run.
Cost: O(1).
]]

--- @requires core/call, limits/store_room, operations/records, operations/undo_keys

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
if redis.call("EXISTS", meta) == 0 then
  return { 2, now_floor }
end

-- Read.
records.touch_operation(id, due)
local its = redis.call("HMGET", records.operation_key(id), "state", "undo", "ended", "undo_ms")
local state, undo = its[1], its[2]
local CODES = { [records.UNDOING] = 1, [records.UNDONE] = 2, [records.UNDO_EXPIRED] = 5, [records.UNDO_DROPPED] = 6 }
local code = not state and 0 or --[[ guard: undo-of-ended-operation ]] state == records.RUNNING and 3 or not undo and 4 or CODES[undo]
if not code and --[[ guard: undo-within-its-time ]] its[3] + its[4] <= now_floor then
  code = 5
elseif not code and redis.call("ZCARD", records.operating_key()) >= most_running then
  code = 7
elseif not code and --[[ guard: undo-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
if code then
  return { 0, now_floor, code, 0 }
end

-- Write.
local fields = {}
for i = FIRST_ITEM, #ARGV do
  fields[#fields + 1] = ARGV[i]
end
redis.call("HSET", records.operation_key(id), "undo", records.UNDOING, "undo_reason", "", unpack(fields))
redis.call("PERSIST", records.operation_key(id))
redis.call("PERSIST", records.operations_key())
undo_keys.keep_undo_keys(id, tonumber(its[4]))
records.claim_operation(id, due, now_floor)
return { 0, now_floor, 1, now_floor + records.CLAIM_MS }
