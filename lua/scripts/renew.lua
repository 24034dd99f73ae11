--[[
Note again that somebody waits on queues, and look which of them may have jobs by now: one step, so that no job slips in between.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
KEYS[3] waiting      hash: queue name -> end of some server's interest, Unix ms
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3] flag_ms      how long a registration lasts, ms
ARGV[4..] item × N   name

Returns {status, now_ms, place × N}. Status: 0 done, 1 too late. Place, from 1: of a queue whose line has entries, dead ones perhaps, or
which is a full one. Somebody is to ask for its jobs, and nothing is noted.
Cost: O(1) per queue.
]]
local meta, queues, waiting = KEYS[1], KEYS[2], KEYS[3]
local clock_ms, deadline_ms, flag_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

--- @include "lib/now"
--- @include "lib/keys"
--- @include "lib/find_queue"
--- @include "lib/register_interest"

-- Look. In a slot that is moving, a line that has not come yet stops the script.
local lines, keys = {}, { meta, waiting }
for i = 4, #ARGV do
  local number = find_queue(ARGV[i])
  if number then
    lines[i] = queue_key("r", number)
    keys[#keys + 1] = lines[i]
  end
end
redis.call("EXISTS", unpack(keys))
local reply, empty = { 0, now_floor }, {}
for i = 4, #ARGV do
  if full[ARGV[i]] or lines[i] and redis.call("LLEN", lines[i]) > 0 then
    reply[#reply + 1] = i - 3
  else
    empty[#empty + 1] = ARGV[i]
  end
end

-- Write.
register_interest(empty)
return reply
