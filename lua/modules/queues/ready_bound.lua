-- How many ready jobs a lease request can find at most, from the lengths of the lists alone. Jobs that have expired or wait for a limit count too.
--- @requires core/call, queues/registry, queues/type_keys
--- @exports may_have

local function length_of(number, type)
  return redis.call("ZCARD", type_keys.list_key(number, type ~= "" and type or nil)) + (type == "" and redis.call("LLEN", queue_key("r", number)) or 0)
end

-- types: as queues/type_order has them; nil = any.
local function most_in(number, types, least)
  local most = 0
  for _, type in ipairs(types or { "" }) do
    most = most + length_of(number, type)
    if most >= least then
      return most
    end
  end
  -- In a fair queue, jobs of these types may be in the lists of fair keys.
  local counts_listed = not types or registry.fairness_of(number)
  return most + (counts_listed and tonumber(redis.call("HGET", queue_key("i", number), "typed") or 0) or 0)
end

-- Whether the queues may have so many jobs together.
function may_have(requested, types, least)
  local found = 0
  for _, queue in ipairs(requested) do
    local number = registry.find_queue(queue.name)
    found = found + (number and most_in(number, types, least - found) or 0)
    if found >= least then
      return true
    end
  end
  return false
end
