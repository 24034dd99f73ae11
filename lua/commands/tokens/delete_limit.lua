--[[
Remove a token's limit, and what was counted for it. Frees first: it works in a full Redis.

KEYS token, limited, read_window, write_window
ARGV digest
token: hash  the token and its limit

Returns 1 if it had one, 0 if not.
Cost: O(1).
]]

redis.call("EXISTS", token, limited, read_window, write_window)
redis.call("DEL", read_window, write_window)
redis.call("HDEL", token, "read", "write", "interval")
return redis.call("SREM", limited, digest)
