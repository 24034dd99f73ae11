--[[
Count the jobs of queues by state; changes nothing.

KEYS[1] meta         hash: the namespace's marker
KEYS[2] queues       hash: queue name -> number
ARGV[1] clock_ms     a test's clock, Unix ms; "" = Redis's own
ARGV[2] deadline_ms  Unix ms by which the callers will have given up, 0 = never
ARGV[3..] item × N   queue

Returns {status, now_ms, (ready, scheduled, leased, dead, head) × N}. Status: 0 done, 1 too late.
Ready: entries of the line less its ghosts and blanks. Head: the id at the head of the line, "" = none within its first 20 entries.
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
    local ready_key, scheduled, leased, dead = queue_key("r", number), queue_key("s", number), queue_key("l", number), queue_key("d", number)
    -- Together: in a slot that is moving here, one that has not come yet must not count as empty.
    local ghosts, info = queue_key("g", number), queue_key("i", number)
    redis.call("EXISTS", meta, ready_key, scheduled, leased, dead, ghosts, info)
    local ready = redis.call("LLEN", ready_key) - redis.call("SCARD", ghosts)
    local facts = redis.call("HMGET", info, "blanks", "far")
    reply[n + 1] = ready - (facts[1] or 0)
    reply[n + 2] = redis.call("ZCARD", scheduled) + (facts[2] or 0)
    reply[n + 3] = redis.call("ZCARD", leased)
    reply[n + 4] = redis.call("ZCARD", dead)
    reply[n + 5] = head_of(number)
  else
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = 0, 0, 0, 0, ""
  end
end
return reply
