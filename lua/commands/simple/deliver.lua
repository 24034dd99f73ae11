--[[
Take leases out of their delivery records (ADR 16): their handlers begin, in the process that leased them. Leases that are in no record are ignored.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] sending      hash: record -> leases whose responses may not have left
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers have given up, 0 = never
ARGV[3..] item × N   record, id, lease

Returns {status, now_ms, code × N}. Status: 0 done, 1 too late. Code: 1 taken out, 0 not in its record.
Cost: O(N) of the leases of the records.
]]
local meta, sending = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

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
for i = 3, #ARGV, 3 do
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
