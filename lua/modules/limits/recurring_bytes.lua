-- Recurring jobs count for the quota on bytes: all that callers set of them. How much of it is in the sum stands in the field `counted`, so that the recurring
-- job takes from the sum what it has added.
--- @requires core/call
--- @exports recurring_bytes, uncount_recurring

-- The times of its slots, its counters, and its places in the indexes.
local OWN_BYTES = 600
local FIELDS = { "template", "options", "queue", "note", "schedule", "body", "needs" }

-- length_of(field): how long it is, 0 = there is none.
function recurring_bytes(length_of)
  local bytes = OWN_BYTES
  for _, field in ipairs(FIELDS) do
    bytes = bytes + length_of(field)
  end
  return bytes
end

-- Before a recurring job goes.
function uncount_recurring(key)
  local counted = tonumber(redis.call("HGET", key, "counted") or 0)
  if counted > 0 and redis.call("EXISTS", meta_key) == 1 then
    redis.call("HINCRBY", meta_key, "bytes", -counted)
  end
end
