--[[
Push a queue to a target, or end that. Also in a full Redis: a queue that is pushed frees memory.

KEYS[1] meta            hash: the namespace's marker; only its name is used
KEYS[2] targets         hash: the push targets of the namespace (targets/fields)
KEYS[3] target_changes  zset: field of targets -> number of its last change
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] queue        its name
ARGV[4] target       name of the target; "" = none from now on
ARGV[5] most         queues of a target

Returns {status, now_ms, code}. Status: 0 done, 1 too late. Code: 0 done, 1 there is no such target, 2 it has too many queues.
Cost: O(fields of the hash).
]]
local meta, targets, target_changes = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms, queue, target, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])

--- @requires core/call, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end
start_targets(targets, target_changes)

-- Of the target.
local function count_queues()
  local fields, count = redis.call("HGETALL", targets), 0
  for i = 1, #fields, 2 do
    count = count + (fields[i + 1] == target and string.sub(fields[i], 1, 2) == "q:" and 1 or 0)
  end
  return count
end

if target ~= "" and not field_of("t:" .. target) then
  return { 0, now_floor, 1 }
end
if (field_of("q:" .. queue) or "") ~= target then
  if target ~= "" and count_queues() >= most then
    return { 0, now_floor, 2 }
  end
  set_field("q:" .. queue, target)
  write_version()
end
return { 0, now_floor, 0 }
