--[[
Set a token's limit. Counting starts again: a window of the old length must not outlive it.

KEYS[1] token         hash: the token, gets read, write, interval
KEYS[2] limited       set: digests of the tokens that have a limit
KEYS[3] read_window   hash: consume requests counted now
KEYS[4] write_window  hash: publish requests counted now
ARGV[1] digest        hex, names the token
ARGV[2] read          consume requests in a window, <= 0 = no limit
ARGV[3] write         publish requests in a window, <= 0 = no limit
ARGV[4] interval_s    seconds, >= 1
ARGV[5] only_new      1 = refuse if it has one

Returns 1 if set, 0 if there is no such token, 2 if it has a limit and only_new is 1 (then nothing has changed).
Cost: O(1).
]]
local token, limited, read_window, write_window = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local digest, read, write, interval_s, only_new = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

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
