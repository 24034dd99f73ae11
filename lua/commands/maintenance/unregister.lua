--[[
Remove the marker of a namespace that has no queue, no recurring job, no operation that runs or can be undone, and no worker session left; the engine takes it off the pool's list of namespaces
afterwards.

KEYS meta, queues, sending

Returns 1 if the namespace is gone, 0 if it has something left.
Cost: O(1).
]]

--- @requires core/call

use_namespace(meta)

if redis.call("EXISTS", queues, --[[ guard: recurring-keeps-namespace ]] namespace_key("schedules"), --[[ guard: operation-keeps-namespace ]] namespace_key("operating"), --[[ guard: undo-keeps-namespace ]] namespace_key("undoable")) > 0 then
  return 0
end
-- Sessions send heartbeats, so they are among the workers that were seen last. One that is missed here registers the namespace again.
for _, worker in ipairs(redis.call("ZREVRANGE", namespace_key("workers"), 0, 99)) do
  if --[[ guard: namespace-with-a-session-stays ]] redis.call("EXISTS", session_key(worker)) == 1 then
    return 0
  end
end
-- Without a queue there is no job: the keys that are left have times of jobs that ended earlier.
local names = { --[[ guard: forgotten-namespace-has-no-times ]] "due", --[[ guard: forgotten-namespace-has-no-times ]] "expiries", --[[ guard: forgotten-namespace-has-no-times ]] "expiring", --[[ guard: forgotten-namespace-has-no-times ]] "keeping", --[[ guard: forgotten-namespace-has-no-times ]] "ended", "timers", "workers", "sessions", "tracked", "traces", "endings", "requested", "requesters" }
for i, name in ipairs(names) do
  names[i] = namespace_key(name)
end
redis.call("DEL", meta, --[[ guard: forgotten-namespace-keeps-no-records ]] sending, unpack(names))
return 1
