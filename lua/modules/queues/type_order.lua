-- Lease requests that name types. The first one orders a queue by type: its ready jobs go to lists of their types, some in each script. Until then
-- jobs with a type are in the ready list and in the zset of priorities as all others, at no cost for those who do not lease by type.
--- @requires core/call, core/header, core/plan, queues/registry, queues/notify, queues/type_keys, queues/type_lists, queues/walks, extended/jobs
--- @exports types_of, order_queue, has_unordered, add_flags

-- The types of a request: a list, and each as a key; nil = any.
function types_of(text)
  if text == "" then
    return nil
  end
  local types = {}
  for type in string.gmatch(text, "([^\n]*)\n") do
    types[#types + 1], types[type] = type, true
  end
  return types
end

-- Jobs that were ready before the queue was ordered come before all that are ready by now: the last one of the ready list is taken over first, each before
-- the one that was taken over before it.
local function adopt(job, kind, score, adopted)
  if kind == "p" then
    jobs.put(job, "aside", nil)
    remove_member(queue_key("p", job.queue), job.id)
    type_lists.adopt_job(job, score)
    return adopted
  end
  write_early("SADD", queue_key("g", job.queue), job.id .. string.char(job.entry))
  type_lists.adopt_job(job, text_of((job.priority + 0.5) * PLACES + type_keys.ADOPTED_STEPS - adopted - 1))
  return adopted + 1
end

-- Entries of the ready list, or members of the zset of priorities, in one script.
local STEP = 100

-- state: where the walk is: kind of the index, score or place, id. Returns it for the next step, nil = all jobs were taken over.
local function take_over(number, state)
  local kind, at, id = string.match(state, "^(%a) (%S*) (.*)$")
  local walk = kind == "r" and walks.walk_list_back or walks.walk_on_back
  local found, is_end = walk(touch(queue_key(kind, number)), at, id, STEP, number, kind)
  local before = tonumber(redis.call("HGET", queue_key("i", number), "adopted") or 0)
  local adopted = before
  for _, one in ipairs(found) do
    local job = one[1] and jobs.job_of(one[2])
    at, id = one[3], one[4]
    -- guard: simple-jobs-stay-in-the-list
    if job and is_extended(job) and (kind == "r" or job.entry ~= type_keys.LISTED) then
      adopted = adopt(job, kind, at, adopted)
    end
  end
  if adopted > before then
    write_early("HSET", queue_key("i", number), "adopted", text_of(adopted))
  end
  if is_end or is_end == nil and #found < STEP then
    return kind == "r" and "p  " or nil
  end
  return kind .. " " .. at .. " " .. id
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
function order_queue(name)
  local number = registry.find_queue(name)
  if not number or being_ordered[number] or not registry.is_extended_queue[name] then
    return
  end
  local facts = touch(queue_key("i", number))
  local state
  if registry.is_by_type(number) then
    state = redis.call("HGET", facts, "ordering")
  else
    registry.order_by_type(number)
    write_early("HSET", facts, "by_type", "1")
    write_early("HINCRBY", facts, "front", text_of(type_keys.FRONT_STEPS))
    state = redis.call("EXISTS", queue_key("r", number), queue_key("p", number)) > 0 and "r  "
  end
  if state then
    local next_state = take_over(number, state)
    being_ordered[number] = true
    if next_state then
      write_early("HSET", facts, "ordering", next_state)
    else
      write_early("HDEL", facts, "ordering", "adopted")
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
