--[[
Make a namespace's marker; the engine has added it to the pool's list of namespaces before.

KEYS[1] meta       hash: the namespace's marker and data format version
ARGV[1] format     data format version
ARGV[2] now_ms     by the engine's estimate, Unix ms: the time of its last tidying, for it is still empty

Returns 1.
Cost: O(1).
]]
local meta = KEYS[1]
local format, now_ms = ARGV[1], ARGV[2]

if redis.call("EXISTS", meta) == 0 then
  redis.call("HSET", meta, "format", format, "last_queue", 0, "tidied", now_ms)
end
return 1
