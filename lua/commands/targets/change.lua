--[[
Store, change or remove a push target, if it has not changed since the caller read it, and close breakers of it in the same step. A full Redis refuses
a new target.

KEYS meta, targets, target_changes
ARGV clock_ms, deadline_ms, target, expected, value, most, event, facts
ITEM breaker, facts
target: text    its name
expected: text  what the caller has read of it; "" = there was none
value: text     what is stored from now on; "" = remove it, unless a queue is pushed to it
most: integer   targets of a namespace
event: text     its name, "" = none
facts: text     of the event: JSON

Breaker: the name of one that is closed if it is open; facts of its event: JSON.
Returns {status, now_ms, code, queue}. Code: 1 = done; 0 = the target is not as expected; -1 = a queue is pushed to it; -2 = there are too many.
Queue: its name.
Cost: O(1) per item; O(fields of the hash) if it is new or removed.
]]

--- @requires core/call, limits/store_room, jobs/events, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
fields.start_targets(targets, target_changes)

-- A queue that is pushed to the target; "" = none is.
local function pushed_queue()
  local all_fields, first = redis.call("HGETALL", targets), nil
  for i = 1, #all_fields, 2 do
    local queue = all_fields[i + 1] == target and string.match(all_fields[i], "^q:(.*)$")
    first = queue and (not first or queue < first) and queue or first
  end
  return first or ""
end

local function count_targets()
  local count = 0
  for _, name in ipairs(redis.call("HKEYS", targets)) do
    count = count + (string.sub(name, 1, 2) == "t:" and 1 or 0)
  end
  return count
end

if --[[ guard: target-change-compares ]] (fields.field_of("t:" .. target) or "") ~= expected then
  return { 0, now_floor, 0, "" }
end
if expected == "" and --[[ guard: target-made-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
elseif expected == "" and count_targets() >= most then
  return { 0, now_floor, -2, "" }
end
local queue = value == "" and pushed_queue() or ""
if queue ~= "" then
  return { 0, now_floor, -1, queue }
end
if event ~= "" then
  events.emit(event, "", "", facts)
end
if value ~= expected then
  fields.set_field("t:" .. target, value)
end
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  if fields.field_of("b:" .. ARGV[i]) then
    events.emit("breaker_closed", "", "", ARGV[i + 1])
    fields.set_field("b:" .. ARGV[i], "")
  end
end
fields.write_version()
events.write_events()
return { 0, now_floor, 1, "" }
