-- Jobs that go for good. The bytes of those that count for a quota, as their own flag says, are given back when they are gone.
local freed = 0
local function doom(keys, id, flags)
  add_keys(keys, id, flags)
  if flags >= COUNTED then
    freed = freed + redis.call("STRLEN", job_key(id)) - HEADER_BYTES
  end
end

local function return_bytes()
  if freed > 0 then
    redis.call("HINCRBY", meta, "bytes", -freed)
  end
end
