-- Ends of pauses of some jobs of a queue (extended/settings).
--- @requires core/call, queues/fair_keys
--- @exports turn_after_pause

-- A fair key that was paused has no credit: it takes its turn from when its pause ends. field: of the settings of the queue.
-- Returns the key, its member and its new turn as text; nil = nothing changes.
function turn_after_pause(number, field)
  local key = string.match(field, "^pause f:(.*)$")
  if not key then
    return nil
  end
  local turns, name = fair_keys.turns_key(number), fair_keys.list_name_of(key)
  redis.call("EXISTS", meta_key, turns, queue_key("i", number))
  local turn, served = redis.call("ZSCORE", turns, name), redis.call("HGET", queue_key("i", number), "served_turn")
  if turn and served and --[[ guard: paused-key-gets-no-credit ]] tonumber(turn) < tonumber(served) then
    return turns, name, served
  end
end
