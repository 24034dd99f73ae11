--[[
Read which push targets, pushed queues and breakers have changed.

KEYS meta, targets, target_changes
ARGV clock_ms, deadline_ms, since, most
since: integer  number of the last change that the caller knows
most: integer   changed fields that are worth it

Returns {status, now_ms, version, (field, value) × N}. Version: number of the last change; -1 = the log does not go so far back, or more has changed:
read the whole hash. Value: "" = it was removed.
Cost: O(log fields) and O(1) per changed field.
]]

--- @requires core/call, targets/fields

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

fields.start_targets(targets, target_changes)
local version, from = tonumber(fields.field_of("v") or 0), tonumber(fields.field_of("a") or 0)
local is_logged = version > 0 and --[[ guard: unlogged-target-change-reads-all ]] fields.has_log(version) and from <= since and since <= version
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
