-- Members of a zset from the lowest one on, as a script needs them. They are read in windows, each at most twice as long as the one before: how many jobs
-- the script will take is not known.
--- @requires core/call, core/plan, jobs/value_windows
--- @exports open_reader, read_head, value_of_head, pass_head

-- Members that are read at once.
local MOST_READ = 50

-- What the script itself removes leaves the zset when all is written: until then it is passed, not read again.
function open_reader(key)
  return { key = touch(key), members = {}, at = 1, read = 0, last_size = 0, values = {}, first_value = 1, value_count = 0 }
end

-- The first member that was not passed, and its score; nil = there is none. wanted: how many jobs the script may take for its present item.
function read_head(reader, wanted)
  if reader.at > #reader.members and not reader.is_end then
    local size = math.min(math.max(wanted, reader.last_size * 2), MOST_READ)
    reader.members, reader.at = redis.call("ZRANGE", reader.key, reader.read, reader.read + size - 1, "WITHSCORES"), 1
    reader.values, reader.first_value = {}, 1
    reader.read, reader.last_size, reader.is_end = reader.read + size, size, #reader.members < 2 * size
  end
  return reader.members[reader.at], tonumber(reader.members[reader.at + 1])
end

-- The value of the job that is the head, false = there is none. The first one is read alone, as the next job may be in another list.
function value_of_head(reader)
  local place = (reader.at + 1) / 2
  local value = reader.values[place - reader.first_value + 2]
  if value == nil then
    local size = math.min(math.max(--[[ guard: values-of-each-list-double ]] reader.value_count * 2, 1), #reader.members / 2 - place + 1)
    local keys = { meta_key }
    for i = 0, value_windows.window_size(size) - 1 do
      keys[i + 2] = job_key(reader.members[reader.at + 2 * i])
    end
    reader.values, reader.first_value, reader.value_count = value_windows.read_job_values(keys), place, #keys - 1
    value = reader.values[2]
  end
  return value
end

function pass_head(reader)
  reader.at = reader.at + 2
end
