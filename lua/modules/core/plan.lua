-- The plan of a script of the extended path: the script reads and collects commands, commit (extended/commit) runs them. Every key is touched before the
-- first write, and what frees memory goes first: so a slot that is moving, or a full Redis, ends the script before it has written, or not at all.
--- @requires core/call
--- @exports due_key, start_plan, key_list, touch, is_planned, free, write, frees, early_steps, steps, lasts, write_early, first_timer
--- @exports set_timer, run_all

-- due: key of the zset of due times. While a slot moves to another node, an index that this script empties counts as moved for the rest of the script:
-- what was taken out of it could not be written elsewhere. A key that never exists makes Redis answer TRYAGAIN before the first write until the whole
-- slot has moved.
function start_plan(due)
  due_key = due
  redis.call("EXISTS", meta_key, namespace_key("never"))
end

-- The keys that were touched. Commit touches them all in Redis.
key_list = {}
local seen_keys = {}
function touch(key)
  if not seen_keys[key] then
    seen_keys[key], key_list[#key_list + 1] = true, key
  end
  return key
end

-- Commands, or functions, in the order in which they run: what frees memory, early_steps before jobs get their new places, steps, and lasts after all.
frees, early_steps, steps, lasts = {}, {}, {}, {}

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

-- After what frees memory, before jobs get their new places.
function write_early(command, key, ...)
  early_steps[#early_steps + 1] = { command, touch(key), ... }
end

-- The earliest timer that was set.
first_timer = math.huge

-- Sets a timer (commands/extended/run_timers). at: Unix ms.
function set_timer(what, at)
  write("ZADD", namespace_key("timers"), "LT", text_of(at), what)
  first_timer = math.min(first_timer, at)
end

function run_all(commands)
  for _, command in ipairs(commands) do
    if type(command) == "function" then
      command()
    else
      redis.call(unpack(command))
    end
  end
end
