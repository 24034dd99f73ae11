-- Walks a queue's ready list from its head while nothing is written yet, and sorts out what it meets on the way.
local LOOK_LIMIT, EXPIRED_COST, looked = 1000, 3, 0 -- to remove an expired job takes longer than to pass by a ghost
local FIRST_WINDOW, WINDOW_BYTES, per_job = 8, 524288, 0

-- The next stretch of a line with the values of its jobs. They are read together: in a slot that is moving, one that has not come yet
-- stops the script. The first stretch is short, since bodies may be long; meta stands in for a blank.
local function read_window(line, wanted)
  local size = math.min(wanted, per_job == 0 and FIRST_WINDOW or math.max(math.floor(WINDOW_BYTES / per_job), 1))
  line.window = redis.call("LRANGE", queue_key("r", line.number), line.taken, line.taken + size - 1)
  local keys, bytes = { meta }, 0
  for i, entry in ipairs(line.window) do
    keys[i + 1] = entry == "" and meta or job_key(string.sub(entry, 1, -2))
  end
  line.values, line.at = redis.call("MGET", unpack(keys)), 1
  for i = 2, #keys do
    bytes = bytes + #(line.values[i] or "")
  end
  per_job = math.max(bytes / math.max(#line.window, 1), 1)
end

-- Whether the entry is that of a live job: its id, job and value.
local function sort_out(line, entry, value)
  local id, job = string.sub(entry, 1, -2), value and unpack_job(value)
  if entry == "" then
    line.blanks = line.blanks + 1
  elseif not is_here(job, entry, line.number) or line.leased[id] then
    line.ghosts[#line.ghosts + 1] = entry
  elseif is_expired(job) then
    looked = looked + EXPIRED_COST - 1
    line.expired = line.expired + 1
    add_keys(line.doomed, id, job)
  else
    return id, job, value
  end
end
