-- A line is read in stretches, each with the values of its jobs. Bodies may be long, and what is to come is not known: so a stretch is at
-- most twice as long as the last one that told something, and about as long as half a megabyte of bodies like those.
local FIRST_WINDOW, WINDOW_BYTES = 8, 524288
local next_size = FIRST_WINDOW

-- The values are read together: in a slot that is moving, one that has not come yet stops the script. meta stands in for a blank.
local function read_window(line, wanted)
  local size = math.min(wanted, next_size)
  line.window = redis.call("LRANGE", queue_key("r", line.number), line.taken, line.taken + size - 1)
  local ids, keys, bytes, found = {}, { meta }, 0, 0
  for i, entry in ipairs(line.window) do
    ids[i] = string.sub(entry, 1, -2)
    keys[i + 1] = entry == "" and meta or job_key(ids[i])
  end
  line.ids, line.keys, line.values, line.at = ids, keys, redis.call("MGET", unpack(keys)), 1
  for i = 2, #keys do
    if line.values[i] then
      bytes, found = bytes + #line.values[i], found + 1
    end
  end
  if found > 0 then
    next_size = math.min(math.max(size, FIRST_WINDOW) * 2, math.max(math.floor(WINDOW_BYTES * found / bytes), 1))
  end
end
