--[[
Make a namespace's marker; the engine has added it to the pool's list of namespaces before.

KEYS[1] meta       hash: the namespace's marker and data format version
ARGV[1] format     data format version

Returns 1.
Cost: O(1).
]]
local meta = KEYS[1]
local format = ARGV[1]

if redis.call("EXISTS", meta) == 0 then
  redis.call("HSET", meta, "format", format, "last_queue", 0)
end
return 1
