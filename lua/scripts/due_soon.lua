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
local cursor, count, horizon_ms, before, behind = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]

-- Most namespaces have nothing that will ever be due: of some at once it costs a fraction to ask whether any has.
local AT_ONCE = 25

local page = redis.call("SSCAN", namespaces, cursor, "COUNT", count)
local reply, names = { page[1], redis.call("SCARD", namespaces) }, page[2]
for first = 1, #names, AT_ONCE do
  local keys = {}
  for i = first, math.min(first + AT_ONCE - 1, #names) do
    keys[#keys + 1] = before .. names[i] .. behind
  end
  if redis.call("EXISTS", unpack(keys)) > 0 then
    for i, key in ipairs(keys) do
      -- A key that is no zset is its namespace's trouble, not the others'.
      local due = redis.pcall("ZRANGE", key, 0, 0, "WITHSCORES")[2]
      if due and tonumber(due) <= horizon_ms then
        reply[#reply + 1] = names[first + i - 1]
        reply[#reply + 1] = due
      end
    end
  end
end
return reply
