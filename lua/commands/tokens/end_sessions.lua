--[[
End sessions of an account, with what OpenID Connect knows of them.

KEYS sessions, checked, accounts
ARGV digest, name
sessions: zset  digest -> when it ends, Unix ms
checked: hash   digest, or "" for the account -> what a check by OpenID Connect has found
accounts: zset  accounts that signed in by OpenID Connect -> when their last session ends, Unix ms
digest: text    digest of the secret of one, "" = all
name: text      of the account

Returns how many have ended, also those whose time was over.
Cost: O(log N), or O(N) for all.
]]

if digest ~= "" then
  redis.call("HDEL", checked, digest)
  return redis.call("ZREM", sessions, digest)
end
local ended = redis.call("ZCARD", sessions)
redis.call("DEL", sessions, checked)
redis.call("ZREM", accounts, name)
return ended
