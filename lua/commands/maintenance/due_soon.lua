--[[
Find those of some namespaces that have something due soon. Changes nothing. Not for a Cluster: they are in many slots.

KEYS[1] namespaces  set: the registered namespaces
ARGV[1] cursor      where the last call ended, "0" = from the start
ARGV[2] count       namespaces to look at, about
ARGV[3] horizon_ms  what is due later is left out, Unix ms
ARGV[4] before      the part before the namespace in the key of its due times
ARGV[5] behind      the part behind it

Returns {cursor, namespaces in all, namespace and due time as texts × N}. Cursor "0": all have been looked at.
Cost: O(count).
]]
local namespaces = KEYS[1]
local cursor, count, horizon_ms, before, behind = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local page = redis.call("SSCAN", namespaces, cursor, "COUNT", count)
local reply = { page[1], redis.call("SCARD", namespaces) }
for _, namespace in ipairs(page[2]) do
  local key = before .. namespace .. behind
  -- Mostly there is nothing, and a count costs less than half of what texts cost. A key of another type is an error of its namespace, and must not
  -- fail the others.
  -- guard: due-soon-only
  if redis.pcall("ZCOUNT", key, "-inf", horizon_ms) ~= 0 then
    local due = --[[ guard: spoilt-key-stops-no-sweep ]] redis.pcall("ZRANGE", key, 0, 0, "WITHSCORES")[2]
    if due then
      reply[#reply + 1] = namespace
      reply[#reply + 1] = due
    end
  end
end
return reply
