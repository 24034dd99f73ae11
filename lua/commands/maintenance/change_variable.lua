--[[
Store or remove a variable of a namespace, if it is as expected, and tell its subscribers if it has changed. A full Redis refuses a new or longer value. It needs no marker
of the namespace, and outlives it.

KEYS meta, variables
ARGV clock_ms, deadline_ms, name, value, most, expected
variables: hash    name -> JSON
name: text         its name
value: text        JSON; "" = remove it
most: integer      variables of a namespace
expected: text     what is there before; "" = there is none, "*" = whatever it is. Else nothing changes

Returns {status, now_ms, code}. Code: 1 = there was one; 0 = there was none; -1 = there are too many.
Cost: O(1).
]]

--- @requires core/call, limits/store_room, jobs/events

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
local before = redis.call("HGET", variables, name) or nil
local existed = before and 1 or 0
local is_other = expected ~= "*" and (before or "") ~= expected
if value == (before or "") or --[[ guard: moved-variable-keeps-changes ]] is_other then
  return { 0, now_floor, existed }
elseif --[[ guard: variables-are-bounded ]] not before and redis.call("HLEN", variables) >= most then
  return { 0, now_floor, -1 }
elseif #value > #(before or "") and --[[ guard: variable-store-full ]] store_room.is_store_full() then
  return store_room.STORE_FULL
end
events.emit(value == "" and "variable_deleted" or "variable_changed", "", "", cjson.encode({ variable = name }))

-- Write.
if value == "" then
  redis.call("HDEL", variables, name)
else
  redis.call("HSET", variables, name, value)
end
events.write_events()
return { 0, now_floor, existed }
