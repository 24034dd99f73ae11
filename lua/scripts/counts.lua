--[[
Count the jobs of queues by state; changes nothing.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   queue

Returns {status, now_ms, (ready, scheduled, leased, dead, head, blocked, held, ended, stuck) × N}. Status: 0 done, 1 too late.
Stuck: those of the blocked ones that wait for something that has failed. Ready: entries of the line less its ghosts and blanks. Ended: done and cancelled jobs that are kept. Head: the id at the head of the line, "" = none within its first 20 entries.
Cost: O(1) per item.
]]
local meta, queues = KEYS[1], KEYS[2]
local clock_ms, deadline_ms = ARGV[1], tonumber(ARGV[2])

--- @include "lib/now"
--- @include "lib/job"
--- @include "lib/keys"
--- @include "lib/header"
--- @include "lib/find_queue"

local function head_of(number)
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", number), 0, 19)) do
    local id = string.sub(entry, 1, -2)
    local job = entry ~= "" and read_job(id)
    if is_here(job, entry, number) then
      return id
    end
  end
  return ""
end

local reply = { 0, now_floor }
for i = 3, #ARGV do
  local number, n = find_queue(ARGV[i]), #reply
  if number then
    -- Together: in a slot that is moving here, one that has not come yet must not count as empty.
    local keys = { meta }
    for kind in string.gmatch("rgisldpSLbhz", ".") do
      keys[#keys + 1], keys[kind] = queue_key(kind, number), queue_key(kind, number)
    end
    redis.call("EXISTS", unpack(keys))
    local facts = redis.call("HMGET", keys.i, "blanks", "far")
    local function size(kind)
      return redis.call("ZCARD", keys[kind])
    end
    local ready = redis.call("LLEN", keys.r) - redis.call("SCARD", keys.g) - (facts[1] or 0)
    -- The plain lane's queues pay for the full lane's indexes only if they have any.
    local rich = full[ARGV[i]] and size or function() return 0 end
    reply[n + 1] = ready + rich("p")
    reply[n + 2] = size("s") + (facts[2] or 0) + rich("S")
    reply[n + 3], reply[n + 4], reply[n + 5] = size("l") + rich("L"), size("d"), head_of(number)
    reply[n + 6], reply[n + 7], reply[n + 8] = rich("b"), rich("h"), rich("z")
    reply[n + 9] = full[ARGV[i]] and redis.call("ZCOUNT", keys.b, "-inf", "(0") or 0
  else
    for at = 1, 9 do
      reply[n + at] = at == 5 and "" or 0
    end
  end
end
return reply
