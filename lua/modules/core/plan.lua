-- The plan of a script of the extended path: the script reads and collects commands, commit (extended/commit) runs them. Every key is touched before the
-- first write, and what frees memory goes first: so a slot that is moving, or a full Redis, ends the script before it has written, or not at all.
--- @requires core/call
--- @exports plan, start_plan, touch, free, write, write_early, add_member, is_planned, add_earliest, remove_member, delete_key, set_timer, run_all

-- Commands, or functions, in the order in which they run: what frees memory, early steps before jobs get their new places, steps, and lasts after all.
local frees, early, steps, lasts = {}, {}, {}, {}
-- keys: all that were touched, which commit touches in Redis. due: key of the zset of due times. first_timer: when the earliest timer that was set is due.
plan = { frees = frees, early = early, steps = steps, lasts = lasts, keys = {}, due = nil, first_timer = math.huge }

-- While a slot moves to another node, an index that this script empties counts as moved for the rest of the script:
-- what was taken out of it could not be written elsewhere. A key that never exists makes Redis answer TRYAGAIN before the first write until the whole
-- slot has moved.
function start_plan(due)
  plan.due = due
  -- guard: moving-slot-stops-script
  redis.call("EXISTS", meta_key, namespace_key("never"))
end

local touched, seen_keys, keys_seen = plan.keys, {}, 0
function touch(key)
  if not seen_keys[key] then
    keys_seen = keys_seen + 1
    seen_keys[key], touched[keys_seen] = true, key
  end
  return key
end

function free(command, key, ...)
  frees[#frees + 1] = { command, touch(key), ... }
end

function write(command, key, ...)
  steps[#steps + 1] = { command, touch(key), ... }
end

-- After what frees memory, before jobs get their new places.
function write_early(command, key, ...)
  early[#early + 1] = { command, touch(key), ... }
end

-- Members of sorted sets, and keys that are deleted: a command for each set, however many jobs a batch has. A list has what follows the key in the
-- command; places: a member -> where it stands.
local function list_of(lists, commands, command, key)
  local list = lists[key]
  if not list then
    list = { command = command, key = key and touch(key), places = {}, size = 0 }
    lists[key or command], commands[#commands + 1] = list, list
  end
  return list
end

-- score: as text.
local additions = {}
function add_member(key, score, member)
  local list = additions[key] or list_of(additions, steps, "ZADD", key)
  local at = list.places[member]
  if not at then
    at = list.size + 2
    list.places[member], list[at], list.size = at, member, at
  end
  list[at - 1] = score
  return list
end

function is_planned(key, member)
  return additions[key] and additions[key].places[member]
end

-- The same, unless the member has a lower score. at: Unix ms.
local earliest = {}
function add_earliest(key, at, member)
  local known = earliest[key] or {}
  if not known[member] or at < known[member] or not is_planned(key, member) then
    earliest[key], known[member] = known, at
    add_member(key, text_of(at), member).option = "LT"
  end
end

local function cancel_addition(list, member)
  local at, last = list.places[member], list.size
  if at then
    list[at - 1], list[at], list.places[list[last]] = list[last - 1], list[last], at
    list.size, list.places[member] = last - 2, nil
  end
end

-- A batch may move one job several times. What frees runs first, so a member that leaves again must not be added afterwards.
local removals = {}
function remove_member(key, member)
  local list, added = removals[key] or list_of(removals, frees, "ZREM", key), additions[key]
  if not list.places[member] then
    local at = list.size + 1
    list.places[member], list[at], list.size = true, member, at
  end
  -- guard: plan-drops-left-member
  if added then
    cancel_addition(added, member)
  end
end

local deletions = {}
function delete_key(key)
  local list = deletions.DEL or list_of(deletions, frees, "DEL")
  local at = list.size + 1
  list[at], list.size = touch(key), at
end

-- Sets a timer (commands/extended/run_timers), unless it is set for sooner. at: Unix ms.
local timers
function set_timer(what, at)
  timers = timers or namespace_key("timers")
  add_earliest(timers, at, what)
  plan.first_timer = math.min(plan.first_timer, at)
end

-- Members of one command, at most: Lua passes no more than some 8,000 values to a function.
local MOST_MEMBERS = 1000
local function run_list(list)
  local call = redis.call
  for first = 1, list.size, MOST_MEMBERS do
    local last = math.min(first + MOST_MEMBERS - 1, list.size)
    if list.option then
      call(list.command, list.key, list.option, unpack(list, first, last))
    elseif list.key then
      call(list.command, list.key, unpack(list, first, last))
    else
      call(list.command, unpack(list, first, last))
    end
  end
end

function run_all(commands)
  for _, command in ipairs(commands) do
    if type(command) == "function" then
      command()
    elseif command.size then
      run_list(command)
    else
      redis.call(unpack(command))
    end
  end
end
