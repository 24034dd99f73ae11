--[[
Find a session of an account.

KEYS sessions
ARGV digest
sessions: zset  digest -> when it ends, Unix ms
digest: text    digest of the secret

Returns when it ends, Unix ms; 0 if there is none, or if it has ended.
Cost: O(1).
]]

local ends_ms = tonumber(redis.call("ZSCORE", sessions, digest) or 0)
local time = redis.call("TIME")
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if --[[ guard: session-ends-in-time ]] ends_ms <= now_ms then
  return 0
end
return ends_ms
