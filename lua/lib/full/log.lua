-- What a script of the full lane is going to do: it looks first and collects, commit (lib/full/place) does it. Every key is touched
-- before the first change, what frees goes first: a slot that is moving, or a full Redis, stops the script before or not at all.
local seen_keys, key_list, frees, marks, steps, lasts, first_timer = {}, {}, {}, {}, {}, {}, math.huge
local function touch(key)
  if not seen_keys[key] then
    seen_keys[key], key_list[#key_list + 1] = true, key
  end
  return key
end

local function free(command, key, ...)
  table.insert(frees, { command, touch(key), ... })
  return frees[#frees]
end

-- After what frees, before jobs take their new places.
local function mark(command, key, ...)
  marks[#marks + 1] = { command, touch(key), ... }
end

local function write(command, key, ...)
  table.insert(steps, { command, touch(key), ... })
  return steps[#steps]
end

-- The clock is to come for something (lua/scripts/full_tick.lua) at a time, Unix ms.
local function set_timer(what, at)
  write("ZADD", space_key("timers"), "LT", text_of(at), what)
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
