-- The plan of a script of the extended path: the script reads and collects commands, commit runs them. Every key is touched before the first
-- write, and what frees memory goes first: so a slot that is moving, or a full Redis, ends the script before it has written, or not at all.
local seen_keys, key_list, frees, early_steps, steps, lasts, first_timer = {}, {}, {}, {}, {}, {}, math.huge
local function touch(key)
  if not seen_keys[key] then
    seen_keys[key], key_list[#key_list + 1] = true, key
  end
  return key
end

local free, write, is_planned
do
  -- Members that this script is going to add to sorted sets: key -> member -> its command. A batch may move one job several times. What frees
  -- runs first, so a member that leaves again must not be added afterwards.
  local planned = {}
  function is_planned(key, member)
    return planned[key] and planned[key][member]
  end

  local function cancel_planned(key, member)
    local step = planned[key][member]
    if step then
      planned[key][member] = nil
      for i = #step, 3, -1 do
        step[i] = nil
      end
      step[1] = "EXISTS"
    end
  end

  function free(command, key, ...)
    local step = { command, touch(key), ... }
    frees[#frees + 1] = step
    if command == "ZREM" and planned[key] then
      for i = 3, #step do
        cancel_planned(key, step[i])
      end
    end
    return step
  end

  function write(command, key, ...)
    local step = { command, touch(key), ... }
    steps[#steps + 1] = step
    if command == "ZADD" and step[4] then
      local members = planned[key] or {}
      planned[key], members[step[#step]] = members, step
    end
    return step
  end
end

-- After what frees memory, before jobs get their new places.
local function write_early(command, key, ...)
  early_steps[#early_steps + 1] = { command, touch(key), ... }
end

-- Sets a timer (commands/extended/run_timers). at: Unix ms.
local function set_timer(what, at)
  write("ZADD", namespace_key("timers"), "LT", text_of(at), what)
  first_timer = math.min(first_timer, at)
end

local function run_all(commands)
  for _, command in ipairs(commands) do
    if type(command) == "function" then
      command()
    else
      redis.call(unpack(command))
    end
  end
end
