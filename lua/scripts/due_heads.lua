--[[
Say when each of many namespaces is due next; changes nothing. Not for a Cluster: its keys are in many slots.

ARGV[1..] item × N   due

Due: a namespace's zset of queue number -> earliest due time. Returns its lowest score, Unix ms as text, "" = nothing is due, × N.
Cost: O(1) per item.
]]

local heads = {}
for i = 1, #ARGV do
  -- A key that is no zset is its namespace's trouble, not the others'.
  heads[i] = redis.pcall("ZRANGE", ARGV[i], 0, 0, "WITHSCORES")[2] or ""
end
return heads
