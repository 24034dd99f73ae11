--[[
Write something that changes nothing. A Redis that has been asked to wait for replicas waits for a connection's last write: after
this one, for all that was written before it, also when a call that was sent again found its work done and wrote nothing.

KEYS[1] meta         hash: the namespace's marker, or the set of all namespaces; it has no TTL

Returns nothing.
Cost: O(1). Neither command is refused for want of memory.
]]
local meta = KEYS[1]

redis.call("PEXPIRE", meta, 86400000)
redis.call("PERSIST", meta)
