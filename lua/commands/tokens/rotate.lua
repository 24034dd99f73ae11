--[[
Replace a token by a new one, with its pool, namespace, description, permissions and limit. The old one is removed now or after grace_ms. The new one
expires when the old one would have, unless an end is given.

KEYS token, successor, index, limited, read_window, write_window
ARGV digest, new_digest, text, grace_ms, lifetime_ms, expires_ms
token: hash           the old token
successor: hash       the new token
read_window: hash     consume requests of the old token counted now
write_window: hash    publish requests of the old token counted now
digest: text          hex, names the old token
new_digest: text      hex, names the new token
text: text            the new token without its pool prefix
grace_ms: integer     how long the old one goes on working, 0 = not at all
lifetime_ms: integer  how long the new one works, 0 = not given
expires_ms: integer   until when the new one works, Unix ms, 0 = not given

Returns 1 if done; 0 if there is no old token, 2 if the new one exists, 3 if it would have expired already (then nothing has changed).
Cost: O(log N) in the namespace's tokens.
]]

--- @requires limits/token_lifetime

redis.call("EXISTS", index, limited, read_window, write_window)
local fields = redis.call("HGETALL", token)
if #fields == 0 then
  return 0
end
if redis.call("EXISTS", successor) == 1 then
  return 2
end
local old = {}
for i = 1, #fields, 2 do
  old[fields[i]] = fields[i + 1]
end
local now_ms, now_us = token_lifetime.read_token_time()
local ends_ms = token_lifetime.end_of(now_ms, lifetime_ms, expires_ms) or tonumber(old.expires)
if ends_ms and ends_ms <= now_ms then
  return 3
end
for name, value in pairs(old) do
  if name == "token" or name == "bound" then
    redis.call("HSET", successor, name, text)
  elseif name ~= "expires" and name ~= "used" and name ~= "replaced" then
    redis.call("HSET", successor, name, value)
  end
end
token_lifetime.end_at(successor, ends_ms)
redis.call("ZADD", index, now_us, new_digest)
if old.interval then
  redis.call("SADD", limited, new_digest)
end
if grace_ms > 0 then
  redis.call("HSET", token, "replaced", 1)
  token_lifetime.end_at(token, math.min(now_ms + grace_ms, tonumber(old.expires) or math.huge))
  return 1
end
redis.call("DEL", token, read_window, write_window)
redis.call("ZREM", index, digest)
redis.call("SREM", limited, digest)
return 1
