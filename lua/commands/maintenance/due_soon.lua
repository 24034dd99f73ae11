--[[
Find those of some namespaces that have something due soon. Changes nothing. Not for a Cluster: they are in many slots.

KEYS namespaces
ARGV cursor, count, horizon_ms, before, behind
namespaces: set   the registered namespaces
cursor: text      where the last call ended, "0" = from the start
count: text       namespaces to look at, about
horizon_ms: text  what is due later is left out, Unix ms
before: text      the part before the namespace in the key of its due times
behind: text      the part behind it

Returns {cursor, namespaces in all, namespace and due time as texts × N}. Cursor "0": all have been looked at.
Cost: O(count).
]]

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
