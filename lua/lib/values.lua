-- Values of jobs are written together: a call costs more than what it does. A long body is never copied for its header's sake.
local SHORT = 512
local values, size, heads = {}, 0, {}

local function put_value(key, value)
  values[size + 1], values[size + 2] = key, value
  size = size + 2
end

-- Other first bytes for a value that was read; whole: not only its header.
local function put_head(key, value, head, whole)
  if whole and #value <= SHORT then
    put_value(key, head .. string.sub(value, #head + 1))
  else
    heads[#heads + 1] = { key, head }
  end
end

local function write_values()
  if size > 0 then
    redis.call("MSET", unpack(values))
  end
  for _, one in ipairs(heads) do
    redis.call("SETRANGE", one[1], 0, one[2])
  end
end
