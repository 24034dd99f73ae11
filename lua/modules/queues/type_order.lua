-- Lease requests that name types. The first one orders a queue by type: its ready jobs go to lists of their types, some in each script. Until then
-- jobs with a type are in the ready list and in the zset of priorities as all others, at no cost for those who do not lease by type.
--- @requires core/call, core/header, core/plan, queues/registry, queues/notify, queues/type_keys, queues/type_lists
--- @requires queues/fair_keys, queues/fair_lists, queues/adoption
--- @exports types_of, order_queue, has_unordered, add_flags

-- The types of a request: a list, and each as a key; nil = any. Requests for the same types get the same table.
local seen = {}
function types_of(text)
  if text == "" or seen[text] then
    return seen[text]
  end
  local types = {}
  seen[text] = types
  for type in string.gmatch(text, "([^\n]*)\n") do
    types[#types + 1], types[type] = type, true
  end
  return types
end

-- A job in the list of its fair key stays there, and is indexed by its type.
local function is_in_place(job, kind)
  if kind == "Q" then
    fair_lists.index_by_type(job)
  end
  return kind == "Q" or kind == "p" and job.entry == type_keys.LISTED
end

-- By number: this script moves jobs of the queue, and leases none of it.
local being_ordered = {}
function has_unordered(requested)
  for _, queue in ipairs(next(being_ordered) and requested or {}) do
    if being_ordered[registry.find_queue(queue.name) or 0] then
      return true
    end
  end
  return false
end

-- Before any job is read. Simple jobs have no type.
local is_looked_at = {}
function order_queue(name)
  local number = registry.find_queue(name)
  if not number or is_looked_at[name] or not registry.is_extended_queue[name] then
    return
  end
  is_looked_at[name] = true
  local facts = touch(queue_key("i", number))
  local state
  if registry.is_by_type(number) then
    state = redis.call("HGET", facts, "ordering")
  else
    registry.order_by_type(number)
    write_early("HSET", facts, "by_type", "1")
    adoption.begin_adoption(number)
    state = redis.call("EXISTS", queue_key("r", number), queue_key("p", number), fair_keys.turns_key(number)) > 0 and "r"
  end
  if state then
    local next_state = adoption.adopt_some(number, state, "rpQ", is_in_place, type_lists.adopt_job)
    being_ordered[number] = true
    if next_state then
      write_early("HSET", facts, "ordering", next_state)
    else
      write_early("HDEL", facts, "ordering")
    end
  end
end

-- The flags of a request that waits (queues/notify). A queue that is not ordered wakes lease requests for any type.
function add_flags(flags, requested, types)
  for _, queue in ipairs(requested) do
    local number = registry.find_queue(queue.name)
    if number and registry.is_by_type(number) then
      flags[#flags + 1] = notify.flag_of(queue.name, notify.ANY)
      for _, type in ipairs(types) do
        flags[#flags + 1] = notify.flag_of(queue.name, type)
      end
    else
      flags[#flags + 1] = queue.name
    end
  end
end
