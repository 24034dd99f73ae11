--[[
Remove a token, with its limit and the windows that count for it. Frees first: it works in a full Redis.

KEYS[1] token         hash: the token and its limit
KEYS[2] index         zset: digests of the namespace's tokens
KEYS[3] limited       set: digests of the tokens that have a limit
KEYS[4] read_window   hash: consume requests counted now
KEYS[5] write_window  hash: publish requests counted now
ARGV[1] digest        hex, names the token

Returns 1 if it was there, 0 if not.
Cost: O(log N) in the namespace's tokens.
]]
local token, index, limited, read_window, write_window = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local digest = ARGV[1]

redis.call("EXISTS", token, index, limited, read_window, write_window)
local existed = redis.call("DEL", token)
redis.call("DEL", read_window, write_window)
redis.call("ZREM", index, digest)
redis.call("SREM", limited, digest)
return existed
