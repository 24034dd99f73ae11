--[[
Store what a check by OpenID Connect has found about a session and its account. It works in a full Redis, as the sign-in itself.

KEYS sessions, checked, accounts
ARGV digest, name, session, account, age_ms, lifetime_ms
sessions: zset        digest -> when it ends, Unix ms
checked: hash         digest, or "" for the account -> "<when it was checked, Unix ms> <value>"
accounts: zset        name of an account -> when its last session ends at the latest, Unix ms
digest: text          digest of the secret of the session
name: text            of the account
session: text         value of the session
account: text         value of the account
age_ms: integer       how long ago the provider has confirmed the groups
lifetime_ms: integer  how long a session lasts

Returns 1; 0 if there is no such session any more: nothing is stored.
Cost: O(N + M) for N sessions of the account, at most 20, and M accounts that are removed.
]]

local ends_ms = tonumber(redis.call("ZSCORE", sessions, digest) or 0)
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
-- guard: ended-session-stays-ended
if ends_ms <= now_ms then
  return 0
end
local fields = redis.call("HKEYS", checked)
local latest_ms = tonumber(redis.call("ZSCORE", accounts, name) or 0)
redis.call("ZREMRANGEBYSCORE", accounts, "-inf", string.format("%.0f", now_ms))
for _, field in ipairs(fields) do
  if field ~= "" and not redis.call("ZSCORE", sessions, field) then
    redis.call("HDEL", checked, field)
  end
end
local at_ms = string.format("%.0f ", now_ms - age_ms)
redis.call("HSET", checked, digest, at_ms .. session, "", at_ms .. account)
redis.call("PEXPIRE", checked, lifetime_ms)
redis.call("ZADD", accounts, string.format("%.0f", math.max(ends_ms, latest_ms)), name)
return 1
