-- A line is read in stretches, each with the values of its jobs. Bodies may be long, and what is to come is not known: so a stretch is at
-- most twice as long as the last one that told something, and about as long as half a megabyte of bodies like those.
local FIRST_WINDOW, WINDOW_BYTES = 8, 524288
local next_size, last_size, last_values, last_count = FIRST_WINDOW, 0, {}, 0

-- What the last stretch told: asked when there is a next one, for most scripts have none.
local function measure()
  local bytes, found = 0, 0
  for i = 1, last_count do
    local value = last_values[i + 1]
    if value then
      bytes, found = bytes + #value, found + 1
    end
  end
  if found > 0 then
    next_size = math.min(math.max(last_size, FIRST_WINDOW) * 2, math.max(math.floor(WINDOW_BYTES * found / bytes), 1))
  end
end

-- The values are read together: in a slot that is moving, one that has not come yet stops the script. meta stands in for a blank, and
-- before all others, so that values[i + 1] is that of entry i.
local function read_window(line, wanted)
  measure()
  last_size = math.min(wanted, next_size)
  local window = redis.call("LRANGE", queue_key("r", line.number), line.taken, line.taken + last_size - 1)
  local ids, keys, sub, prefix = {}, { meta }, string.sub, base .. "j"
  for i, entry in ipairs(window) do
    local id = sub(entry, 1, -2)
    ids[i], keys[i + 1] = id, entry == "" and meta or prefix .. id
  end
  last_values, last_count = redis.call("MGET", unpack(keys)), #window
  line.window, line.ids, line.keys, line.values, line.at, line.size = window, ids, keys, last_values, 1, last_count
end
