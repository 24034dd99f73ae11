-- A line is read in stretches, each with the values of its jobs.
local FIRST_WINDOW, WINDOW_BYTES, per_job = 8, 524288, 0

-- The values are read together: in a slot that is moving, one that has not come yet stops the script. The first stretch is short, since
-- bodies may be long; meta stands in for a blank.
local function read_window(line, wanted)
  local size = math.min(wanted, per_job == 0 and FIRST_WINDOW or math.max(math.floor(WINDOW_BYTES / per_job), 1))
  line.window = redis.call("LRANGE", queue_key("r", line.number), line.taken, line.taken + size - 1)
  local ids, keys, bytes = {}, { meta }, 0
  for i, entry in ipairs(line.window) do
    ids[i] = string.sub(entry, 1, -2)
    keys[i + 1] = entry == "" and meta or job_key(ids[i])
  end
  line.ids, line.values, line.at = ids, redis.call("MGET", unpack(keys)), 1
  for i = 2, #keys do
    bytes = bytes + #(line.values[i] or "")
  end
  per_job = math.max(bytes / math.max(#ids, 1), 1)
end
