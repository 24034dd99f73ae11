-- Queues that a script makes: number_of while reading, write_new_queues when writing.
local new_queues = {}
local function number_of(name)
  local number = find_queue(name)
  if not number then
    last_queue = last_queue + 1
    number, numbers[name] = last_queue, last_queue
    new_queues[#new_queues + 1] = name
  end
  return number
end

local function write_new_queues()
  if #new_queues > 0 then
    redis.call("HSET", meta, "last_queue", last_queue)
    for _, name in ipairs(new_queues) do
      redis.call("HSET", queues, name, numbers[name])
      redis.call("HSET", queue_key("i", numbers[name]), "name", name)
    end
  end
end
