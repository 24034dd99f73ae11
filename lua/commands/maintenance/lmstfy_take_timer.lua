--[[
Move members of a lmstfy server's timer to the zset of what an import has in progress. What the server has moved meanwhile is not there any more, and
stays with the server. Runs in lmstfy's Redis, not in ours.

KEYS timer, in_hand
ITEM member
timer: zset    a job's packed place -> due time, Unix s
in_hand: zset  as timer

Returns the number of members moved.
Cost: O(log N) per item.
]]

redis.call("EXISTS", in_hand)
local moved = 0
for i = FIRST_ITEM, #ARGV do
  local due = redis.call("ZSCORE", timer, ARGV[i])
  if due then
    redis.call("ZREM", timer, ARGV[i])
    redis.call("ZADD", in_hand, due, ARGV[i])
    moved = moved + 1
  end
end
return moved
