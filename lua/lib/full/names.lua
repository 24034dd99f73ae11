--- @include "lib/named_keys"
-- Names of queues by number.
local names = {}
local function name_of(number)
  names[number] = names[number] or redis.call("HGET", queue_key("i", number), "name")
  return names[number]
end
