--[[
Read which push targets, pushed queues and breakers have changed.

KEYS[1] meta            hash: the namespace's marker; only its name is used
KEYS[2] targets         hash: the push targets of the namespace (targets/fields)
KEYS[3] target_changes  zset: field of targets -> number of its last change
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3] since        number of the last change that the caller knows
ARGV[4] most         changed fields that are worth it

Returns {status, now_ms, version, (field, value) × N}. Status: 0 done, 1 too late. Version: number of the last change; -1 = the log does not go so far
back, or more has changed: read the whole hash. Value: "" = it was removed.
Cost: O(log fields) and O(1) per changed field.
]]
local meta, targets, target_changes = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms, since, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

--- @requires core/call, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

start_targets(targets, target_changes)
local version, from = tonumber(field_of("v") or 0), tonumber(field_of("a") or 0)
local is_logged = version > 0 and --[[ guard: unlogged-target-change-reads-all ]] has_log(version) and from <= since and since <= version
local names = is_logged and redis.call("ZRANGEBYSCORE", target_changes, --[[ guard: target-changes-since ]] "(" .. text_of(since), "+inf", "LIMIT", 0, most + 1) or {}
if not is_logged or --[[ guard: many-target-changes-read-all ]] #names > most then
  return { 0, now_floor, -1 }
end
local reply = { 0, now_floor, version }
if #names > 0 then
  local values = redis.call("HMGET", targets, unpack(names))
  for i, name in ipairs(names) do
    reply[#reply + 1], reply[#reply + 2] = name, values[i] or ""
  end
end
return reply
