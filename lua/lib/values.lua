-- Whole values of jobs are written together: a call costs more than what it does. A long body is never copied for its header's sake.
local SHORT = 512
local values, heads = {}, {}

-- Plans to write a value, or only its first bytes anew.
local function put_value(key, value, head)
  if head and #value > SHORT then
    heads[#heads + 1] = { key, head }
  else
    values[#values + 1] = key
    values[#values + 1] = head and head .. string.sub(value, #head + 1) or value
  end
end

local function write_values()
  if #values > 0 then
    redis.call("MSET", unpack(values))
  end
  for _, one in ipairs(heads) do
    redis.call("SETRANGE", one[1], 0, one[2])
  end
end
