--[[
Store a token, unless it exists. Redis removes it when it expires. The text of a token with limited permissions is in another field: servers that do
not know permissions do not find it.

KEYS token, index
ARGV digest, pool, namespace, text, description, verbs, queues, lifetime_ms, expires_ms
token: hash           pool, namespace, token or bound, description, verbs, queues, expires
pool: text            name
namespace: text       name
text: text            the token without its pool prefix
description: text     any text
verbs: text           separated by commas, "" = all
queues: text          patterns separated by commas, "" = all
lifetime_ms: integer  how long it works, 0 = not given
expires_ms: integer   until when it works, Unix ms, 0 = not given

Returns 1 if stored; 0 if it exists, 2 if it would have expired already (then nothing has changed).
Cost: O(log N) in the namespace's tokens.
]]

--- @adds
--- @requires limits/token_lifetime

redis.call("EXISTS", index)
if redis.call("EXISTS", token) == 1 then
  return 0
end
local now_ms, now_us = token_lifetime.read_token_time()
local ends_ms = token_lifetime.end_of(now_ms, lifetime_ms, expires_ms)
if ends_ms and ends_ms <= now_ms then
  return 2
end
local is_bound = verbs ~= "" or queues ~= ""
redis.call("HSET", token, "pool", pool, "namespace", namespace, --[[ guard: bound-tokens-are-stored-apart ]] is_bound and "bound" or "token", text)
redis.call("HSET", token, "description", description)
if verbs ~= "" then
  redis.call("HSET", token, "verbs", verbs)
end
if queues ~= "" then
  redis.call("HSET", token, "queues", queues)
end
token_lifetime.end_at(token, ends_ms)
redis.call("ZADD", index, now_us, digest)
return 1
