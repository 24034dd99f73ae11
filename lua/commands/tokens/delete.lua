--[[
Remove a token, with its limit and the windows that count for it. Frees first: it works in a full Redis.

KEYS token, index, limited, read_window, write_window
ARGV digest
token: hash  the token and its limit

Returns 1 if it was there, 0 if not.
Cost: O(log N) in the namespace's tokens.
]]

redis.call("EXISTS", token, index, limited, read_window, write_window)
local existed = redis.call("DEL", token)
redis.call("DEL", read_window, write_window)
redis.call("ZREM", index, digest)
redis.call("SREM", limited, digest)
return existed
