-- Whole values of jobs, new or changed, are written together: a call costs more than what it does. A long body is never copied for its
-- header's sake.
local SHORT = 512
local values = {}

local function put_value(key, value)
  values[#values + 1] = key
  values[#values + 1] = value
end

-- A job's value with another header.
local function change_header(id, value, header)
  if #value <= SHORT then
    put_value(job_key(id), header .. string.sub(value, HEADER_BYTES + 1))
  else
    redis.call("SETRANGE", job_key(id), 0, header)
  end
end

local function write_values()
  if #values > 0 then
    redis.call("MSET", unpack(values))
  end
end
