--[[
Set quotas of a namespace, all or none. It works in a full Redis: a lower quota is what an operator needs there.

KEYS quotas
ITEM field, value
quotas: hash  pool/namespace/quota -> value; v = how often they have changed

Value: "" = the default again. Returns the new number of changes: a server that sees it sees the new values.
Cost: O(N).
]]

for i = FIRST_ITEM, #ARGV, ITEM_SIZE do
  if ARGV[i + 1] == "" then
    redis.call("HDEL", quotas, ARGV[i])
  else
    redis.call("HSET", quotas, ARGV[i], ARGV[i + 1])
  end
end
return redis.call("HINCRBY", quotas, "v", 1)
