-- The queues of an item of a lease, in their order. In turns, the queue that gave a job longest ago comes first: turns are counted for the whole
-- namespace, so that it does not matter which server calls, nor with which other queues.
--- @requires core/call, core/plan, queues/registry
--- @exports queues_of, took_turn

local turn, turn_of = nil, {}
local function place_in_turn(queue)
  local number = registry.find_queue(queue.name)
  local known = turn_of[queue.name] or number and redis.call("HGET", queue_key("i", number), "turn")
  turn_of[queue.name] = tonumber(known or 0)
  return turn_of[queue.name]
end

function queues_of(list, in_turns)
  local requested = {}
  for name in string.gmatch(list, "[^,]+") do
    requested[#requested + 1] = { name = name, place = #requested + 1 }
  end
  if in_turns then
    table.sort(requested, function(one, other)
      local mine, yours = place_in_turn(one), place_in_turn(other)
      return mine < yours or mine == yours and one.place < other.place
    end)
  end
  return requested
end

function took_turn(name, number)
  turn = (turn or tonumber(redis.call("HGET", meta_key, "turn") or 0)) + 1
  turn_of[name] = turn
  write("HSET", queue_key("i", number), "turn", turn)
  write("HSET", meta_key, "turn", turn)
end
