-- Values of many jobs. Short ones are read whole and together: a call costs more than what it reads; where bodies are long, headers alone
-- are read, one by one. A job that has not come yet, in a slot that is moving, stops the script.
local LONG, headers_only = 1024, {}

local function read_some(values, keys, first, last)
  local found, longest = redis.call("MGET", meta, unpack(keys, first, last)), 0
  for i = first, last do
    local value = found[i - first + 2]
    values[i] = value
    if value and #value > longest then
      longest = #value
    end
  end
  return longest
end

-- Per id its value, false if there is no such job; and per id its key.
local function read_values(ids)
  local values, keys, longest, size, first, prefix = {}, {}, 0, 8, 1, base .. "j"
  for i, id in ipairs(ids) do
    keys[i] = prefix .. id
  end
  while first <= #ids and longest <= LONG do
    local last = math.min(first + size - 1, #ids)
    -- No more than twice as many as were seen to be short.
    longest = read_some(values, keys, first, last)
    first, size = last + 1, longest > 0 and size * 2 or size
  end
  for i = first, #ids do
    local header = redis.call("GETRANGE", keys[i], "0", HEADER_BYTES - 1)
    values[i] = header ~= "" and header or make_sure_it_is_gone(ids[i]) or false
    headers_only[ids[i]] = true
  end
  return values, keys
end
