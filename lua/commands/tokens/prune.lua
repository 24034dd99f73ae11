--[[
Remove a token that has expired from the lists. Frees first: it works in a full Redis.

KEYS token, index, limited
ARGV digest
token: hash  the token, if it is there again

Returns 1 if it was listed, 0 if not, or if the token is there.
Cost: O(log N) in the namespace's tokens.
]]

redis.call("EXISTS", index, limited)
if redis.call("EXISTS", token) == 1 then
  return 0
end
redis.call("SREM", limited, digest)
return redis.call("ZREM", index, digest)
