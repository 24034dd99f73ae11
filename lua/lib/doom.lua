-- Jobs that go for good. The bytes of those that count for a quota, as their own flag says, are given back (lib/return_bytes) afterwards.
local freed = 0
local function doom(keys, id, flags)
  add_keys(keys, id, flags)
  if flags >= COUNTED then
    freed = freed + redis.call("STRLEN", job_key(id)) - HEADER_BYTES
  end
end
