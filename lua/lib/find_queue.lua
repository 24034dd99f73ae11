-- A queue's number by its name, nil if there is none; asked once per script. A number below zero says that the queue is a full one
-- (docs/adr/0018-two-lanes-in-the-store.md): what a plain lane must leave to the full one.
local numbers, full = {}, {}
local function find_queue(name)
  local number = numbers[name]
  if number == nil then
    number = tonumber(redis.call("HGET", queues, name)) or false
    if number and number < 0 then
      number, full[name] = -number, true
    end
    numbers[name] = number
  end
  return number or nil
end
