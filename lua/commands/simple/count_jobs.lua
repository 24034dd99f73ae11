--[[
Count the jobs of queues by state; changes nothing.

KEYS meta, queues
ARGV clock_ms, deadline_ms
ITEM queue

Returns {status, now_ms, (ready, scheduled, leased, dead, head, blocked, held, done, cancelled, stuck) × N}. Ready: entries of the ready list less
stale ones and tombstones. Head: when the job at the head of the list was published, Unix ms; 0 = not known, or none within its first 20 entries.
Done, cancelled: jobs that are kept. Stuck: those of the blocked ones that wait for a job that failed.
Cost: O(1) per item.
]]

--- @requires core/call, core/header, queues/registry

use_namespace(meta, queues)
if start_clock(clock_ms, deadline_ms) then
  return { 1, now_floor }
end

local function head_of(number)
  for _, entry in ipairs(redis.call("LRANGE", queue_key("r", number), 0, 19)) do
    local id = string.sub(entry, 1, -2)
    local job = entry ~= "" and read_job(id)
    if is_live_entry(job, entry, number) then
      return publish_time(id, job) or 0
    end
  end
  return 0
end

local reply = { 0, now_floor }
for i = FIRST_ITEM, #ARGV do
  local number, n = registry.find_queue(ARGV[i]), #reply
  if number then
    -- Together: in a slot that is moving here, a key that has not arrived must not count as empty.
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
    -- Only extended queues have indexes of the extended path.
    local extended = registry.is_extended_queue[ARGV[i]] and size or function() return 0 end
    reply[n + 1] = ready + extended("p")
    reply[n + 2] = size("s") + (facts[2] or 0) + extended("S")
    reply[n + 3], reply[n + 4], reply[n + 5] = size("l") + extended("L"), size("d"), head_of(number)
    -- Scores below zero: cancelled jobs that are kept, and blocked ones that wait for a job that failed.
    local function below_zero(kind)
      return registry.is_extended_queue[ARGV[i]] and redis.call("ZCOUNT", keys[kind], "-inf", "(0") or 0
    end
    local cancelled = below_zero("z")
    reply[n + 6], reply[n + 7], reply[n + 8], reply[n + 9] = extended("b"), extended("h"), extended("z") - cancelled, cancelled
    reply[n + 10] = below_zero("b")
  else
    for at = 1, 10 do
      reply[n + at] = 0
    end
  end
end
return reply
