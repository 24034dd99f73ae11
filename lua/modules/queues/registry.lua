-- The queues of a namespace and their numbers, which are never used again.
--- @requires core/call
--- @exports last_queue, first_new_queue, is_extended_queue, find_queue, read_last_queue, number_of, keep_new_queues, write_new_queues
--- @exports queue_names, name_of, is_by_type, order_by_type, fairness_of

-- Name -> true: a queue of the extended path, whose number stands below zero (ADR 18). Only of names that were
-- looked up.
is_extended_queue = {}
local numbers = {}

-- A queue's number by its name, nil if there is none. Each name is looked up once.
function find_queue(name)
  local number = numbers[name]
  if number == nil then
    number = tonumber(redis.call("HGET", queues_key, name)) or false
    if number and number < 0 then
      number, is_extended_queue[name] = -number, true
    end
    numbers[name] = number
  end
  return number or nil
end

-- Must run before number_of. Returns false if the namespace is not registered.
function read_last_queue()
  last_queue = tonumber(redis.call("HGET", meta_key, "last_queue"))
  first_new_queue = (last_queue or 0) + 1
  return last_queue ~= nil
end

-- A queue's number; a queue that is not there is planned.
local new_queues = {}
function number_of(name)
  local number = find_queue(name)
  if not number then
    last_queue = last_queue + 1
    number, numbers[name] = last_queue, last_queue
    new_queues[#new_queues + 1] = name
  end
  return number
end

-- Of the planned queues, only those are made whose numbers are keys of used.
function keep_new_queues(used)
  local kept = {}
  for _, name in ipairs(new_queues) do
    kept[#kept + 1] = used[numbers[name]] and name or nil
  end
  -- guard: quota-queue-for-stored
  new_queues = kept
end

function write_new_queues()
  if #new_queues > 0 then
    redis.call("HSET", meta_key, "last_queue", last_queue)
    for _, name in ipairs(new_queues) do
      redis.call("HSET", queues_key, name, numbers[name])
      redis.call("HSET", queue_key("i", numbers[name]), "name", name)
    end
  end
end

-- Names of queues by number; and how their ready jobs are stored, which is read with the name: by type (queues/type_lists), or in turns
-- (queues/fair_lists): "on"; "off" = no more, but some may still be in lists of fair keys; false = in none.
queue_names = {}
local by_type, fairness = {}, {}
local function read_facts(number)
  local facts = redis.call("HMGET", queue_key("i", number), "name", "by_type", "fair")
  queue_names[number], by_type[number], fairness[number] = queue_names[number] or facts[1], facts[2] ~= false, facts[3]
end

function name_of(number)
  if not queue_names[number] then
    read_facts(number)
  end
  return queue_names[number]
end

function is_by_type(number)
  if by_type[number] == nil then
    read_facts(number)
  end
  return by_type[number]
end

function order_by_type(number)
  by_type[number] = true
end

-- "on": jobs that become ready go to lists of fair keys; "off": not any more; false: there are none.
function fairness_of(number)
  if fairness[number] == nil then
    read_facts(number)
  end
  return fairness[number]
end
