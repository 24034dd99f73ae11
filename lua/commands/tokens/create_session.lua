--[[
Store a session of an account. The oldest ones beyond the limit end. It works in a full Redis: an operator must be able to sign in there.

KEYS sessions
ARGV digest, lifetime_ms, max
sessions: zset        digest -> when it ends, Unix ms
digest: text          digest of the secret
lifetime_ms: integer  how long it lasts
max: integer          sessions of the account, 1 or more

Returns when it ends, Unix ms.
Cost: O(log N + M) for M sessions that are removed.
]]

local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call("ZREMRANGEBYSCORE", sessions, "-inf", string.format("%.0f", now_ms))
redis.call("ZADD", sessions, string.format("%.0f", now_ms + lifetime_ms), digest)
-- guard: sessions-of-an-account-bounded
redis.call("ZREMRANGEBYRANK", sessions, 0, -max - 1)
redis.call("PEXPIRE", sessions, lifetime_ms)
return now_ms + lifetime_ms
