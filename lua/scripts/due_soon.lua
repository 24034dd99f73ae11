--[[
Look at some of the namespaces: which have something due soon? Changes nothing. Not for a Cluster: they are in many slots.

KEYS[1] namespaces  set: the registered namespaces
ARGV[1] cursor      where the last look ended, "0" = begin anew
ARGV[2] count       namespaces to look at, about
ARGV[3] horizon_ms  what is due later does not count, Unix ms
ARGV[4] before      what stands before a namespace in the key of its due times
ARGV[5] behind      what stands behind it

Returns {cursor, namespaces in all, namespace and due time as texts × N}. Cursor "0": all have been looked at.
Cost: O(count).
]]
local namespaces = KEYS[1]
local cursor, count, horizon_ms, before, behind = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local page = redis.call("SSCAN", namespaces, cursor, "COUNT", count)
local reply = { page[1], redis.call("SCARD", namespaces) }
for _, namespace in ipairs(page[2]) do
  local key = before .. namespace .. behind
  -- Mostly there is nothing, which a number says for less than half of what texts cost. A key that is no zset is its namespace's
  -- trouble, not the others'.
  if redis.pcall("ZCOUNT", key, "-inf", horizon_ms) ~= 0 then
    local due = redis.pcall("ZRANGE", key, 0, 0, "WITHSCORES")[2]
    if due then
      reply[#reply + 1] = namespace
      reply[#reply + 1] = due
    end
  end
end
return reply
