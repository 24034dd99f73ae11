-- Names of queues by number.
--- @requires core/call
local names = {}
local function name_of(number)
  names[number] = names[number] or redis.call("HGET", queue_key("i", number), "name")
  return names[number]
end
