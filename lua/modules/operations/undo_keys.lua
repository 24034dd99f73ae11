-- Keys of what an operation keeps so that it can be undone (docs/api/operations.md): a list of the ids of jobs, in the order in which they ended, and a hash
-- with a record for each. A zset has the operations that have them; timer V (timers/operations) removes what is not needed any more.
--- @requires core/call
--- @exports LOOK_AGAIN_MS, undo_ids_key, undo_records_key, undoable_key, touch_undo, keep_undo_keys

-- How soon timer V looks again whether Redis is full, or the time is over.
LOOK_AGAIN_MS = 10000
-- Redis removes the keys later than timer V does: only if no server is left that knows it.
local LAST_MS = 691200000

function undo_ids_key(operation)
  return namespace_key("V:" .. operation)
end

function undo_records_key(operation)
  return namespace_key("U:" .. operation)
end

function undoable_key()
  return namespace_key("undoable")
end

function touch_undo(operation)
  redis.call("EXISTS", meta_key, undo_ids_key(operation), undo_records_key(operation), undoable_key(), namespace_key("timers"))
end

-- ms: how long they are needed, at least.
function keep_undo_keys(operation, ms)
  for _, key in ipairs({ undo_ids_key(operation), undo_records_key(operation), undoable_key() }) do
    redis.call("PEXPIRE", key, text_of(ms + LAST_MS))
  end
end
