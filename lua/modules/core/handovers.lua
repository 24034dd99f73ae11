-- Recurring jobs on their way to another Redis. Each way has a name of its own; what is noted here refuses what a slow server still sends. The keys
-- are in the namespace's slot, but outside of its names, and go by a TTL.
--- @requires core/call
--- @exports handover_key, refuse_handover

local KEPT_MS = 86400000

function handover_key(handover)
  return (string.gsub(base, "{", "pumphouse:moved:{", 1)) .. handover
end

-- why: "removed", the recurring job must not come again; "kept", it goes on where it was.
function refuse_handover(handover, why)
  redis.call("SET", handover_key(handover), why, "PX", KEPT_MS)
end
