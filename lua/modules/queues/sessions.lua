-- Worker sessions that are not lost, by the time at which they are; and the facts of their events.
--- @requires core/call
--- @exports LOST_TIMER, sessions_key, session_facts

-- The timer of sessions that send no heartbeat in time (commands/extended/run_timers).
LOST_TIMER = "H"

-- Zset: session -> when it is lost, Unix ms.
function sessions_key()
  return namespace_key("sessions")
end

-- name: what its process calls itself. more: other facts, or nil.
function session_facts(worker, name, more)
  local facts = more or {}
  facts.worker, facts.name = worker, name or nil
  return facts
end
