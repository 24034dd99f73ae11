--[[
Store an operation: an action over all jobs that a filter matches. extended/step_operation does the work. Of the indexes that hold all of these jobs,
it chooses the one with the fewest entries.

KEYS meta, queues, due
ARGV clock_ms, deadline_ms, id, key, fingerprint, indexes, most_running, most_kept, frees
ITEM field, value
id: text               of the operation
key: text              digest of the idempotency key, "" = none
fingerprint: text      of the request
indexes: text          JSON {kinds, queue, names: a list of [kind, name]}: letters of the indexes of queues (core/call), of one queue or of all; and indexes by
                       worker, group, tag or type
most_running: integer  operations of the namespace that run at once
most_kept: integer     records that are kept; older ones that have ended go
frees: text            "1": also in a full Redis

Field, value: of the record.
Returns {status, now_ms, code, id, next_ms}. Code: 0 it is stored, 1 the same request was stored before, 2 another one with its key, 3 too many run. Next_ms:
when another server takes over, 0 = it is not stored.
Cost: O(most_kept), and O(queues) if no index is named and there are few.
]]

--- @requires core/call, queues/registry, limits/store_room, operations/records

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
if not registry.read_last_queue() then
  return { 2, now_floor }
end

-- Of more queues it is not known how many entries there are.
local MOST_COUNTED = 200
-- Indexes of several keys, whose jobs are counted as they come and go: the field of the count.
local COUNTED = { f = "far", D = "typed" }
local function size_in(number, kinds)
  -- Jobs in lists of fair keys count with those in lists of types.
  local sum, is_counted = 0, { Q = true }
  for kind in string.gmatch(kinds, ".") do
    local key = queue_key(kind, number)
    redis.call("EXISTS", meta, key)
    if not is_counted[kind] then
      is_counted[kind] = true
      sum = sum + (COUNTED[kind] and tonumber(redis.call("HGET", queue_key("i", number), COUNTED[kind]) or 0) or redis.call(kind == "r" and "LLEN" or "ZCARD", key))
    end
  end
  return sum
end

local function size_of_queues(wanted)
  local sum = 0
  if wanted.queue then
    local number = registry.find_queue(wanted.queue)
    return number and size_in(number, wanted.kinds) or 0
  elseif redis.call("HLEN", queues) > MOST_COUNTED then
    return nil
  end
  for _, number in ipairs(redis.call("HVALS", queues)) do
    sum = sum + size_in(math.abs(tonumber(number)), wanted.kinds)
  end
  return sum
end

local function smallest_of(wanted)
  local best = { kinds = wanted.kinds, name = "", size = wanted.kinds ~= "" and size_of_queues(wanted) }
  for _, index in ipairs(wanted.names) do
    local key = namespace_key(index[1] .. ":" .. index[2])
    redis.call("EXISTS", meta, key)
    local size = redis.call("ZCARD", key)
    if not best.size or size < best.size then
      best = { kinds = index[1], name = index[2], size = size }
    end
  end
  return best
end

-- Read.
records.touch_operation(id, due)
local kept, ended = redis.call("ZRANGE", records.operations_key(), 0, -1), {}
for _, one in ipairs(kept) do
  redis.call("EXISTS", meta, records.operation_key(one))
  local its = redis.call("HMGET", records.operation_key(one), "state", "key", "fingerprint", "undo")
  -- guard: operation-key-known
  if key ~= "" and its[2] == key then
    return { 0, now_floor, its[3] == fingerprint and 1 or 2, one, 0 }
  elseif its[1] ~= records.RUNNING then
    ended[#ended + 1] = --[[ guard: undo-keeps-its-operation ]] its[4] ~= records.UNDOING and one or nil
  end
end
-- guard: operations-run-few
if redis.call("ZCARD", records.operating_key()) >= most_running then
  return { 0, now_floor, 3, "", 0 }
elseif frees ~= "1" and --[[ guard: operation-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
local best = smallest_of(cjson.decode(indexes))

-- Write.
local fields = { "state", records.RUNNING, "key", key, "fingerprint", fingerprint, "kinds", best.kinds, "name", best.name }
for i = FIRST_ITEM, #ARGV do
  fields[#fields + 1] = ARGV[i]
end
-- guard: operations-kept-few
for i = 1, math.min(#ended, #kept + 1 - most_kept) do
  records.forget_operation(ended[i])
end
-- The first step comes later than all that was before: what the operation itself does is never met as older.
redis.call("HSET", records.operation_key(id), "created", text_of(now_floor), "next", text_of(now_floor + 1), "to_look", best.size and text_of(best.size) or "", unpack(fields))
redis.call("ZADD", records.operations_key(), text_of(now_floor), id)
redis.call("PERSIST", records.operations_key())
records.claim_operation(id, due, now_floor)
return { 0, now_floor, 0, id, now_floor + records.CLAIM_MS }
