-- Values of jobs that a script may take, read together: in a slot that is moving, a job that has not arrived ends the script. Bodies may be long, and what
-- follows is not known: so a window is at most twice as long as the last one that had jobs, and holds about half a megabyte of bodies like those.
--- @requires core/call
--- @exports window_size, read_job_values

local FIRST_WINDOW, WINDOW_BYTES = 8, 524288
local next_size, last_size, last_values, last_count = FIRST_WINDOW, 0, {}, 0

-- Sets next_size by the last window. Most scripts read one window, so this is done when there is a next one.
local function measure()
  local bytes, found = 0, 0
  for i = 1, last_count do
    local value = last_values[i + 1]
    if value then
      bytes, found = bytes + #value, found + 1
    end
  end
  -- guard: stale-entries-measure-nothing
  if found > 0 then
    next_size = math.min(--[[ guard: list-windows-grow-by-two ]] math.max(last_size, FIRST_WINDOW) * 2, math.max(math.floor(WINDOW_BYTES * found / bytes), 1))
  end
end

-- How many values the next window has.
function window_size(wanted)
  measure()
  last_size = math.min(wanted, next_size)
  return last_size
end

-- keys: meta_key, and those of the jobs. So the value of job i is at i + 1.
function read_job_values(keys)
  last_values, last_count = --[[ guard: lease-reads-jobs-together ]] redis.call("MGET", unpack(keys)), #keys - 1
  return last_values
end
