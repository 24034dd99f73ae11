--[[
Claim something for a time, such as a check that one server of several makes. It works in a full Redis.

KEYS claim
ARGV lifetime_ms
claim: string         there while it is claimed
lifetime_ms: integer  how long

Returns 1; 0 if it is claimed already.
Cost: O(1).
]]

if redis.call("EXISTS", claim) == 1 then
  return 0
end
-- What frees memory comes first: a full Redis lets the script go on.
redis.call("DEL", claim)
redis.call("SET", claim, "1", "PX", lifetime_ms)
return 1
