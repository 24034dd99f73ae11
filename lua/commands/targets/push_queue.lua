--[[
Push a queue to a target, or end that, if the queue is as expected. Also in a full Redis: a queue that is pushed frees memory.

KEYS meta, targets, target_changes
ARGV clock_ms, deadline_ms, queue, target, expected, most
target: text    name of the target; "" = none from now on
expected: text  where it is pushed before; "" = nowhere, "*" = wherever. Else nothing changes
most: integer   queues of a target

Returns {status, now_ms, code}. Code: 0 done, 1 there is no such target, 2 it has too many queues.
Cost: O(fields of the hash).
]]

--- @requires core/call, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
fields.start_targets(targets, target_changes)

-- Of the target.
local function count_queues()
  local all_fields, count = redis.call("HGETALL", targets), 0
  for i = 1, #all_fields, 2 do
    count = count + (all_fields[i + 1] == target and string.sub(all_fields[i], 1, 2) == "q:" and 1 or 0)
  end
  return count
end

local before = fields.field_of("q:" .. queue) or ""
local is_other = expected ~= "*" and before ~= expected
if --[[ guard: moved-push-keeps-changes ]] is_other then
  return { 0, now_floor, 0 }
elseif target ~= "" and not fields.field_of("t:" .. target) then
  return { 0, now_floor, 1 }
end
if before ~= target then
  if target ~= "" and count_queues() >= most then
    return { 0, now_floor, 2 }
  end
  fields.set_field("q:" .. queue, target)
  fields.write_version()
end
return { 0, now_floor, 0 }
