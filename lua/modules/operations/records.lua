-- Records of operations: actions over all jobs that a filter matches (docs/api/operations.md). One hash for each, and two zsets: all that are kept -> when
-- they began; those that run -> when a server takes them over, unless another one has done a step until then.
--- @requires core/call, operations/undo_keys
--- @exports CLAIM_MS, RUNNING, STOPPED, ENDED, operation_key, operations_key, operating_key, touch_operation, claim_operation, end_operation, forget_operation
--- @exports UNDOING, UNDONE, UNDO_DROPPED, UNDO_EXPIRED, drop_undo, end_undo

RUNNING, STOPPED, ENDED = "running", "stopped", "done"
-- Of its undo, if it has one; or "kept" until then, and "stopped".
UNDOING, UNDONE, UNDO_DROPPED, UNDO_EXPIRED = "running", "done", "dropped", "expired"
-- An operation that has ended is kept for a week.
local KEPT_MS = 604800000
-- How long after a step, or after its time, another server goes on.
CLAIM_MS = 5000

function operation_key(id)
  return base .. ":O:" .. id
end

function operations_key()
  return namespace_key("operations")
end

function operating_key()
  return namespace_key("operating")
end

-- Touches all keys that the functions below write.
function touch_operation(id, due)
  redis.call("EXISTS", meta_key, due, namespace_key("timers"), operation_key(id), operations_key(), operating_key())
  undo_keys.touch_undo(id)
end

-- Another server takes the operation over some time after `at`, Unix ms. An earlier version knows no such timer, and sets it to a minute later.
function claim_operation(id, due, at)
  redis.call("ZADD", operating_key(), text_of(math.max(at, now_floor) + CLAIM_MS), id)
  local first = redis.call("ZRANGE", operating_key(), 0, 0, "WITHSCORES")[2]
  redis.call("ZADD", namespace_key("timers"), first, "O")
  redis.call("ZADD", due, "LT", first, EXTENDED_TIMERS)
end

-- It does not run any more.
local function release_operation(id)
  -- guard: ended-operation-runs-no-more
  redis.call("ZREM", operating_key(), id)
  if redis.call("ZCARD", operating_key()) == 0 then
    redis.call("PEXPIRE", operations_key(), text_of(KEPT_MS))
  end
end

-- reason: why it was stopped, "" = it is done.
function end_operation(id, reason)
  redis.call("HSET", operation_key(id), "state", reason == "" and ENDED or STOPPED, "reason", reason, "ended", text_of(now_floor))
  redis.call("PEXPIRE", operation_key(id), text_of(KEPT_MS))
  release_operation(id)
end

-- It has ended, and is kept no longer.
function forget_operation(id)
  redis.call("UNLINK", operation_key(id), undo_keys.undo_ids_key(id), undo_keys.undo_records_key(id))
  redis.call("ZREM", operations_key(), id)
  redis.call("ZREM", undo_keys.undoable_key(), id)
end

-- Nothing is left to bring back, or it is not kept any more. state: UNDONE, UNDO_DROPPED or UNDO_EXPIRED.
function drop_undo(id, state)
  if redis.call("EXISTS", operation_key(id)) == 1 then
    redis.call("HSET", operation_key(id), "undo", state)
  end
  redis.call("UNLINK", undo_keys.undo_ids_key(id), undo_keys.undo_records_key(id))
  redis.call("ZREM", undo_keys.undoable_key(), id)
end

-- reason: why the undo was stopped, "" = it is done.
function end_undo(id, reason)
  if reason == "" then
    drop_undo(id, UNDONE)
  else
    redis.call("HSET", operation_key(id), "undo", "stopped", "undo_reason", reason)
  end
  -- guard: undone-operation-has-a-ttl
  redis.call("PEXPIRE", operation_key(id), text_of(KEPT_MS))
  release_operation(id)
end
