--[[
Read the lowest scores of many zsets; changes nothing. Not for a Cluster: they are in many slots.

ITEM zset

Returns the lowest score as text, "" = it is empty, × N.
Cost: O(1) per item.
]]

local heads = {}
for i = FIRST_ITEM, #ARGV do
  -- A key of another type is an error of its namespace, and must not fail the others.
  heads[i] = redis.pcall("ZRANGE", ARGV[i], 0, 0, "WITHSCORES")[2] or ""
end
return heads
