--[[
Set or remove a field of the push targets of a namespace, if none of them has changed since the caller read them. They need no marker of the
namespace, and outlive it. A full Redis refuses a new target. What the fields mean: src/engine/queues/targets.ts.

KEYS[1] meta         hash: the namespace's marker; only its name is used
KEYS[2] targets      hash: field -> value; "v" -> number of the last change, its time in Unix ms or more
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] version      number of the last change that the caller knows, 0 = there was none
ARGV[4] field        its name
ARGV[5] value        "" = remove it
ARGV[6] event        its name, "" = none
ARGV[7] facts        of the event: JSON

Returns {status, now_ms, version}. Status: 0 done, 1 too late. Version: number of this change; 0 = another caller was faster, and nothing has
changed.
Cost: O(1).
]]
local meta, targets = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])
local version, field, value, event, facts = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

--- @requires core/call, limits/store_room, jobs/events

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

redis.call("EXISTS", meta, targets)
if (redis.call("HGET", targets, "v") or "0") ~= version then
  return { 0, now_floor, 0 }
end
local is_new_target = value ~= "" and string.sub(field, 1, 2) == "t:" and redis.call("HEXISTS", targets, field) == 0
if is_new_target and --[[ guard: target-made-store-full ]] is_store_full() then
  return STORE_FULL
end
if event ~= "" then
  emit(event, "", "", facts)
end
if value == "" then
  redis.call("HDEL", targets, field)
else
  redis.call("HSET", targets, field, value)
end
-- Not from 1: servers must not take a namespace that was purged and made anew for the one that they know.
local next_version = math.max(tonumber(version) + 1, now_floor)
redis.call("HSET", targets, "v", next_version)
write_events()
return { 0, now_floor, next_version }
