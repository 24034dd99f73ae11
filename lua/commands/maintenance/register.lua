--[[
Make a namespace's marker; the engine has added it to the pool's list of namespaces before.

KEYS meta
ARGV format, now_ms
format: text  data format version
now_ms: text  by the engine's estimate, Unix ms: the time of its last tidying, for it is still empty

Returns 1.
Cost: O(1).
]]

if redis.call("EXISTS", meta) == 0 then
  redis.call("HSET", meta, "format", format, "last_queue", 0, "tidied", now_ms)
end
return 1
