--[[
Set quotas of a namespace, all or none. It works in a full Redis: a lower quota is what an operator needs there.

KEYS[1] quotas           hash: pool/namespace/quota -> value; v = how often they have changed
ARGV[1..] item × N       field, value

Value: "" = the default again. Returns the new number of changes: a server that sees it sees the new values.
Cost: O(N).
]]
local quotas = KEYS[1]

for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == "" then
    redis.call("HDEL", quotas, ARGV[i])
  else
    redis.call("HSET", quotas, ARGV[i], ARGV[i + 1])
  end
end
return redis.call("HINCRBY", quotas, "v", 1)
