--[[
Remove the marker of a namespace that has no queue left, and nothing that recurs; the engine takes it off the pool's list of namespaces afterwards.

KEYS[1] meta     hash: the namespace's marker
KEYS[2] queues   hash: queue name -> number
KEYS[3] sending  hash: record -> leases whose answers may not have left

Returns 1 if the namespace is gone, 0 if it has something left.
Cost: O(1).
]]
local meta, queues, sending = KEYS[1], KEYS[2], KEYS[3]

--- @include "lib/keys"
--- @include "lib/named_keys"

if redis.call("EXISTS", queues, space_key("schedules")) > 0 then
  return 0
end
redis.call("DEL", meta, sending, space_key("timers"), space_key("workers"), space_key("tracked"), space_key("traces"))
return 1
