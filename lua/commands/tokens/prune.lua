--[[
Remove a token that has expired from the lists. Frees first: it works in a full Redis.

KEYS[1] token    hash: the token, if it is there again
KEYS[2] index    zset: digests of the namespace's tokens
KEYS[3] limited  set: digests of the tokens that have a limit
ARGV[1] digest   hex, names the token

Returns 1 if it was listed, 0 if not, or if the token is there.
Cost: O(log N) in the namespace's tokens.
]]
local token, index, limited = KEYS[1], KEYS[2], KEYS[3]
local digest = ARGV[1]

redis.call("EXISTS", index, limited)
if redis.call("EXISTS", token) == 1 then
  return 0
end
redis.call("SREM", limited, digest)
return redis.call("ZREM", index, digest)
