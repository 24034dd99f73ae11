-- Values of many jobs. Short ones are read whole and together: a call costs more than what it reads; where bodies are long, headers alone
-- are read, one by one. A job that has not come yet, in a slot that is moving, stops the script.
local LONG, headers_only = 1024, {}

local function read_some(values, ids, first, last)
  local keys, bytes = { meta }, 0
  for i = first, last do
    keys[#keys + 1] = job_key(ids[i])
  end
  local found = redis.call("MGET", unpack(keys))
  for i = first, last do
    values[i] = found[i - first + 2]
    bytes = bytes + #(values[i] or "")
  end
  return bytes / (last - first + 1)
end

-- Per id its value, false if there is no such job.
local function read_values(ids)
  local values, average, size, first = {}, 0, 8, 1
  while first <= #ids and average <= LONG do
    local last = math.min(first + size - 1, #ids)
    average, first, size = read_some(values, ids, first, last), last + 1, 100
  end
  for i = first, #ids do
    local header = redis.call("GETRANGE", job_key(ids[i]), 0, HEADER_BYTES - 1)
    values[i] = header ~= "" and header or make_sure_it_is_gone(ids[i]) or false
    headers_only[ids[i]] = true
  end
  return values
end
