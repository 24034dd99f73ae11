--[[
Find what the last check of a session, or of its account, by OpenID Connect has found.

KEYS checked
ARGV field
checked: hash  digest of a session, or "" for the account -> "<when it was checked, Unix ms> <value>"
field: text    the digest, or ""

Returns age of the check in ms, value; nothing if there is none.
Cost: O(1).
]]

local found = redis.call("HGET", checked, field)
if not found then
  return {}
end
local at_ms, value = string.match(found, "^(%d+) (.*)$")
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
return { now_ms - tonumber(at_ms), value }
