-- Timers of operations: O, of which no server has done the next step in time: the one that runs this timer takes them over, if it can check the rights of
-- those who started them; V, of what others keep to be undone.
--- @requires core/call, core/plan, limits/store_room, operations/records, operations/undo_keys, timers/steps
--- @exports take_over_operations, drop_undo_records

local function needs_rights(id)
  redis.call("EXISTS", meta_key, records.operation_key(id))
  local by = redis.call("HMGET", records.operation_key(id), "by", "undo", "undo_by")
  return ((by[2] == records.UNDOING and by[3] or by[1]) or "") ~= ""
end

function take_over_operations(what, checks_rights)
  for _, id in ipairs(steps.due_in(records.operating_key(), what)) do
    if --[[ guard: operation-left-to-servers ]] checks_rights or not needs_rights(id) then
      add_member(records.operating_key(), text_of(now_floor + records.CLAIM_MS), id)
      table.insert(steps.timer_results.operations, id)
    else
      steps.timer_results.left = steps.timer_results.left + 1
    end
  end
end

local FIELDS = { "state", "ended", "undo", "undo_ms" }
-- Why the records of an operation are to go; nil = they stay.
local function why_dropped(id)
  local its = redis.call("HMGET", touch(records.operation_key(id)), unpack(FIELDS))
  if its[3] == records.UNDOING then
    return nil
  elseif --[[ guard: undo-makes-room ]] store_room.is_store_full() then
    return records.UNDO_DROPPED
  elseif not its[1] or its[2] and --[[ guard: undo-has-its-time ]] its[2] + its[4] <= now_floor then
    return records.UNDO_EXPIRED
  end
end

-- What can be undone is looked at every few seconds. There are at most as many as operations that are kept.
function drop_undo_records(_, what)
  local left = 0
  for _, id in ipairs(redis.call("ZRANGE", touch(undo_keys.undoable_key()), 0, -1)) do
    local why = why_dropped(id)
    steps.use_steps(1)
    left = left + (why and 0 or 1)
    if why then
      touch(undo_keys.undo_ids_key(id))
      touch(undo_keys.undo_records_key(id))
      plan.frees[#plan.frees + 1] = function()
        records.drop_undo(id, why)
      end
    end
  end
  if left > 0 then
    write("ZADD", steps.timers_key, text_of(now_floor + undo_keys.LOOK_AGAIN_MS), what)
  else
    remove_member(steps.timers_key, what)
  end
end
