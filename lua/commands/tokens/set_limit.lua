--[[
Set a token's limit. Counting starts again: a window of the old length must not outlive it.

KEYS token, limited, read_window, write_window
ARGV digest, read, write, interval_s, only_new
token: hash       the token, gets read, write, interval
read: text        consume requests in a window, <= 0 = no limit
write: text       publish requests in a window, <= 0 = no limit
interval_s: text  seconds, >= 1
only_new: text    1 = refuse if it has one

Returns 1 if set, 0 if there is no such token, 2 if it has a limit and only_new is 1 (then nothing has changed).
Cost: O(1).
]]

redis.call("EXISTS", limited, read_window, write_window)
if redis.call("EXISTS", token) == 0 then
  return 0
end
if only_new == "1" and redis.call("HEXISTS", token, "interval") == 1 then
  return 2
end
redis.call("DEL", read_window, write_window)
redis.call("HSET", token, "read", read, "write", write, "interval", interval_s)
redis.call("SADD", limited, digest)
return 1
