--[[
Store a token, unless it is there already.

KEYS[1] token      hash: pool, namespace, token, description
KEYS[2] index      zset: digests of the namespace's tokens by time of making, Unix us
ARGV[1] digest     hex, names the token
ARGV[2] pool       name
ARGV[3] namespace  name
ARGV[4] text       the token without its pool prefix
ARGV[5] description  any text

Returns 1 if stored, 0 if it exists (then nothing has changed).
Cost: O(log N) in the namespace's tokens.
]]
local token, index = KEYS[1], KEYS[2]
local digest, pool, namespace, text, description = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

redis.call("EXISTS", index)
if redis.call("EXISTS", token) == 1 then
  return 0
end
redis.call("HSET", token, "pool", pool, "namespace", namespace, "token", text, "description", description)
local time = redis.call("TIME")
redis.call("ZADD", index, string.format("%.0f", time[1] * 1000000 + time[2]), digest)
return 1
