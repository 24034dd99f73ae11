-- Values of many jobs. Short ones are read whole and together: a call costs more than what it reads; where bodies are long, headers alone
-- are read, one by one. A job that has not come yet, in a slot that is moving, stops the script.
local LONG, headers_only = 1024, {}

local function read_some(values, ids, first, last)
  local keys, longest = { meta }, 0
  for i = first, last do
    keys[#keys + 1] = job_key(ids[i])
  end
  local found = redis.call("MGET", unpack(keys))
  for i = first, last do
    values[i] = found[i - first + 2]
    longest = math.max(longest, #(values[i] or ""))
  end
  return longest
end

-- Per id its value, false if there is no such job.
local function read_values(ids)
  local values, longest, size, first = {}, 0, 8, 1
  while first <= #ids and longest <= LONG do
    local last = math.min(first + size - 1, #ids)
    -- No more than twice as many as were seen to be short.
    longest = read_some(values, ids, first, last)
    first, size = last + 1, longest > 0 and size * 2 or size
  end
  for i = first, #ids do
    local header = redis.call("GETRANGE", job_key(ids[i]), 0, HEADER_BYTES - 1)
    values[i] = header ~= "" and header or make_sure_it_is_gone(ids[i]) or false
    headers_only[ids[i]] = true
  end
  return values
end
