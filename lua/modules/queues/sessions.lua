-- Worker sessions that are not lost, by the time at which they are; and the facts of their events.
--- @requires core/call
--- @exports LOST_TIMER, sessions_key, session_facts, is_foreign_session, has_room_for_worker

-- The timer of sessions that send no heartbeat in time (commands/extended/run_timers).
LOST_TIMER = "H"

-- Zset: session -> when it is lost, Unix ms.
function sessions_key()
  return namespace_key("sessions")
end

-- A session belongs to the scope that it began with: the queues that the token of its first heartbeat is for, as text, "" = all. A token for some queues
-- may not act on that of another scope; one for all may, and makes it its own with info: another may have begun it under the name of a worker that only
-- leased so far. known: false = only earlier servers have seen the session, which store none.
function is_foreign_session(known, scope)
  return scope ~= "" and known and known ~= scope
end

-- name: what its process calls itself. more: other facts, or nil.
function session_facts(worker, name, more)
  local facts = more or {}
  facts.worker, facts.name = worker, name or nil
  return facts
end

-- A namespace remembers so many workers at most: those that were seen last. One that is alive has a session that is not lost, and stays.
local MOST_FORGOTTEN = 100
function has_room_for_worker(workers, most)
  local over = most > 0 and redis.call("ZCARD", workers) - most + 1 or 0
  for _, worker in ipairs(over > 0 and redis.call("ZRANGE", workers, 0, math.min(over, MOST_FORGOTTEN) - 1) or {}) do
    if not redis.call("ZSCORE", sessions_key(), worker) then
      over = over - 1
      redis.call("EXISTS", meta_key, session_key(worker))
      redis.call("ZREM", workers, worker)
      redis.call("DEL", session_key(worker))
    end
  end
  return over <= 0
end
