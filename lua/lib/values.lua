-- Values of jobs. New and short ones are written together: a call costs more than what it does. But each text that Lua makes costs by
-- the byte, all of which Redis's Lua adds up: from some forty bytes of body on, a call of its own for a job's new head costs less.
local SHORT = 64
local values, size, heads, headed = {}, 0, {}, 0

local function put_value(key, value)
  values[size + 1], values[size + 2] = key, value
  size = size + 2
end

-- Other first bytes for a value that was read; whole: not only its header.
local function put_head(key, value, head, whole)
  if whole and #value <= SHORT then
    put_value(key, head .. string.sub(value, #head + 1))
  else
    heads[headed + 1], heads[headed + 2], headed = key, head, headed + 2
  end
end

local function write_values()
  local call = redis.call
  if size > 0 then
    call("MSET", unpack(values))
  end
  for i = 1, headed, 2 do
    call("SETRANGE", heads[i], "0", heads[i + 1])
  end
end
