--[[
Move members of a lmstfy server's timer to the zset of what an import has in progress. What the server has moved meanwhile is not there any
more, and stays with the server. Runs in lmstfy's Redis, not in ours.

KEYS[1] timer     zset: a job's packed place -> due time, Unix s
KEYS[2] in_hand   zset: as timer
ARGV[1..] item × N  member

Returns the number of members moved.
Cost: O(log N) per item.
]]
local timer, in_hand = KEYS[1], KEYS[2]

redis.call("EXISTS", in_hand)
local moved = 0
for i = 1, #ARGV do
  local due = redis.call("ZSCORE", timer, ARGV[i])
  if due then
    redis.call("ZREM", timer, ARGV[i])
    redis.call("ZADD", in_hand, due, ARGV[i])
    moved = moved + 1
  end
end
return moved
