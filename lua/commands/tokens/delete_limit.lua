--[[
Remove a token's limit, and what was counted for it. Frees first: it works in a full Redis.

KEYS[1] token         hash: the token and its limit
KEYS[2] limited       set: digests of the tokens that have a limit
KEYS[3] read_window   hash: consume requests counted now
KEYS[4] write_window  hash: publish requests counted now
ARGV[1] digest        hex, names the token

Returns 1 if it had one, 0 if not.
Cost: O(1).
]]
local token, limited, read_window, write_window = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local digest = ARGV[1]

redis.call("EXISTS", token, limited, read_window, write_window)
redis.call("DEL", read_window, write_window)
redis.call("HDEL", token, "read", "write", "interval")
return redis.call("SREM", limited, digest)
