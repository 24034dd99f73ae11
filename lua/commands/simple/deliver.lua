--[[
Take leases out of their delivery records (ADR 16): their handlers begin, in the process that leased them. Leases that are in no record are ignored.

KEYS meta, sending
ARGV clock_ms, deadline_ms
ITEM record, id, lease

Returns {status, now_ms, code × N}. Code: 1 taken out, 0 not in its record.
Cost: O(N) of the leases of the records.
]]

--- @requires core/call, core/header

use_namespace(meta)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

-- Read.
redis.call("EXISTS", meta, sending)
local reply, batches = { 0, now_floor }, {}
local function batch_of(record)
  if batches[record] == nil then
    local packed = redis.call("HGET", sending, record)
    batches[record] = packed and cmsgpack.unpack(packed)
  end
  return batches[record]
end
for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  local batch, id, lease, found = batch_of(ARGV[i]), ARGV[i + 1], tonumber(ARGV[i + 2]), 0
  for at = 2, batch and #batch or 0, 2 do
    if batch[at + 1] == id and struct.unpack(LEASE, batch[at], LEASE_FROM - TRIES_FROM + 1) == lease then
      table.remove(batch, at + 1)
      table.remove(batch, at)
      found = 1
      break
    end
  end
  reply[#reply + 1] = found
end

-- Write.
for record, batch in pairs(batches) do
  if batch and #batch == 1 then
    redis.call("HDEL", sending, record)
  elseif batch then
    redis.call("HSET", sending, record, cmsgpack.pack(batch))
  end
end
return reply
