--[[
End sessions of an account.

KEYS sessions
ARGV digest
sessions: zset  digest -> when it ends, Unix ms
digest: text    digest of the secret of one, "" = all

Returns how many have ended, also those whose time was over.
Cost: O(log N), or O(N) for all.
]]

if digest ~= "" then
  return redis.call("ZREM", sessions, digest)
end
local ended = redis.call("ZCARD", sessions)
redis.call("DEL", sessions)
return ended
