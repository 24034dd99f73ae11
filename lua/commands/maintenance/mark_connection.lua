--[[
Write without changing anything. A Redis that is told to wait for replicas waits for the last write of the connection: after this one, for all that
was written before it, also when a call that was sent again found its work done and wrote nothing.

KEYS meta
meta: hash  the namespace's marker, or the set of all namespaces; it has no TTL

Returns nothing.
Cost: O(1). A full Redis refuses neither command.
]]

-- guard: mark-before-each-wait
redis.call("PEXPIRE", meta, 86400000)
redis.call("PERSIST", meta)
