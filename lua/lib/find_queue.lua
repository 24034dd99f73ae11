-- A queue's number by its name, nil if there is none; asked once per script.
local numbers = {}
local function find_queue(name)
  local number = numbers[name]
  if number == nil then
    number = tonumber(redis.call("HGET", queues, name)) or false
    numbers[name] = number
  end
  return number or nil
end
